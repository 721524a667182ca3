"""Session.map: many inputs through one model, in order, a bounded number of them under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ascend_infer._native import Request
from ascend_infer.errors import AscendInferError, ModelExecutionError
from ascend_infer.input_array import Casting
from ascend_infer.request import RequestMaker
from ascend_infer.result import InferResult
from ascend_infer.scheduling.futures import InferFuture
from ascend_infer.scheduling.scheduler import Scheduler

__all__ = ["stream"]


def stream(
    scheduler: Scheduler,
    requests: RequestMaker,
    iterable: Iterable[Any],
    outputs: Sequence[str] | None,
    window: int | None,
    batched: bool,
    casting: Casting,
    timeout: float | None,
) -> Iterator[InferResult]:
    """Yield results in order; see ``Session.map``."""
    lanes = scheduler.lane_count
    chunk = scheduler.queue.max_rows if requests.front.joins and outputs is None and batched else 1
    if window is not None:
        chunk = max(1, min(chunk, window // (lanes + 1)))
    most = (window or chunk * (2 * lanes + 1)) // chunk or 1
    if chunk > 1:
        return _in_chunks(scheduler, requests, iter(iterable), chunk, most, casting, timeout)
    return _one_by_one(
        scheduler, requests, iter(iterable), outputs, max(most, lanes), batched, casting, timeout
    )


def _one_by_one(
    scheduler: Scheduler,
    requests: RequestMaker,
    items: Iterator[Any],
    outputs: Sequence[str] | None,
    window: int,
    batched: bool,
    casting: Casting,
    timeout: float | None,
) -> Iterator[InferResult]:
    pending: deque[InferFuture | AscendInferError] = deque()

    def send(item: Any) -> None:
        try:
            request = requests.make(item, outputs, timeout, "", batched, casting)
        except AscendInferError as error:
            pending.append(error)  # told in its place
            return
        pending.append(_submitted(scheduler, request, requests.result))

    try:
        for item in islice(items, window):
            send(item)
        while pending:
            result = _outcome(pending.popleft())
            for item in islice(items, 1):
                send(item)
            yield result
    finally:
        _cancel(pending)


def _in_chunks(
    scheduler: Scheduler,
    requests: RequestMaker,
    items: Iterator[Any],
    chunk: int,
    window: int,
    casting: Casting,
    timeout: float | None,
) -> Iterator[InferResult]:
    """Rows that fit together travel as one request; what does not is a request by itself, in its place."""
    front = requests.front
    pending: deque[InferFuture | AscendInferError] = deque()
    nanoseconds = 0 if timeout is None else max(1, int(timeout * 1e9))

    def send() -> bool:
        joined, rest = front.join(items, chunk, nanoseconds)
        if joined is not None:
            pending.append(_submitted(scheduler, joined, front.results_of))
        for item in rest:
            try:
                request = requests.make(item, None, timeout, "", True, casting)
            except AscendInferError as error:
                pending.append(error)
                continue
            pending.append(_submitted(scheduler, request, requests.result))
        return joined is not None or bool(rest)

    try:
        more = True
        while True:
            while more and len(pending) < window:
                more = send()
            if not pending:
                return
            first = pending.popleft()
            parts = None if isinstance(first, AscendInferError) else first.parts
            try:
                results: Any = _outcome(first)
            except ModelExecutionError:
                if parts is None or len(parts) < 2:
                    raise
                # One bad row fails by itself, after those before it.
                for part in parts:
                    yield front.run_request(part)
                continue
            if more:
                more = send()
            if parts is None:
                yield results
            else:
                yield from results
    finally:
        _cancel(pending)


def _submitted(scheduler: Scheduler, request: Request, finish: Any) -> InferFuture:
    future = InferFuture(scheduler.queue, request, finish)
    scheduler.submit(request, future.request_ended)
    return future


def _outcome(pending: InferFuture | AscendInferError) -> InferResult:
    if isinstance(pending, AscendInferError):
        raise pending
    try:
        return pending.result()
    except BaseException:
        pending.cancel()  # Ctrl-C during the wait: nobody will want it; one that failed is over anyway
        raise


def _cancel(pending: Iterable[InferFuture | AscendInferError]) -> None:
    for item in pending:
        if not isinstance(item, AscendInferError):
            item.cancel()
