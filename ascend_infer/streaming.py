"""Session.map: many inputs through one model, in order, a bounded number of them under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ascend_infer._native import Request
from ascend_infer.errors import AscendInferError, ModelExecutionError
from ascend_infer.input_array import Casting
from ascend_infer.request import RequestMaker
from ascend_infer.result import InferResult
from ascend_infer.scheduling.futures import InferFuture
from ascend_infer.scheduling.scheduler import Scheduler
from ascend_infer.timeouts import nanoseconds

__all__ = ["stream"]

Pending = InferFuture | Exception


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
    most = 2 * lanes + 1 if window is None else window // chunk
    room = scheduler.room
    if room:
        # What it sends by itself never finds the queue full.
        most = min(most, room)
        chunk = 1 if room < 3 else chunk
    if chunk > 1:
        # One chunk of the window is being handed out; an item that cannot join goes along with one.
        most = max(1, min(most - 1, room - 1) if room else most - 1)
        return _in_chunks(scheduler, requests, iter(iterable), chunk, most, casting, timeout)

    def make(item: Any) -> Request:
        return requests.make(item, outputs, timeout, "", batched, casting)

    return _one_by_one(scheduler, make, requests.result, iter(iterable), most)


def _one_by_one(
    scheduler: Scheduler,
    make: Callable[[Any], Request],
    finish: Callable[[Request], InferResult],
    items: Iterator[Any],
    window: int,
) -> Iterator[InferResult]:
    pending: deque[Pending] = deque()
    broken: list[Exception] = []
    items = _until_it_breaks(items, broken)

    def send(count: int) -> None:
        for item in islice(items, count):
            try:
                pending.append(_submitted(scheduler, make(item), finish))
            except AscendInferError as error:
                pending.append(error)  # told in its place
        if broken:
            pending.append(broken.pop())

    try:
        send(window)
        while pending:
            result = _outcome(pending.popleft())
            send(1)
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
    """Rows that fit together travel as one request; what does not is a request by itself, in its place.

    Of a slow source fewer travel together, so that none waits for the source while the model could run it.
    """
    front = requests.front
    pending: deque[Pending] = deque()
    broken: list[Exception] = []
    items = _until_it_breaks(items, broken)
    limit = nanoseconds(timeout)

    def send() -> bool:
        last = pending[-1] if pending else None
        joined, rest = front.join(items, chunk, limit, isinstance(last, InferFuture) and not last.done())
        try:
            if joined is not None:
                pending.append(_submitted(scheduler, joined, front.results_of))
            for item in rest:
                request = requests.make(item, None, timeout, "", True, casting)
                pending.append(_submitted(scheduler, request, requests.result))
        except AscendInferError as error:
            pending.append(error)  # told in its place
            return False
        if broken:
            pending.append(broken.pop())
        return joined is not None or bool(rest)

    try:
        more = True
        while True:
            while more and len(pending) < window:
                more = send()
            if not pending:
                return
            first = pending.popleft()
            parts = first.parts if isinstance(first, InferFuture) else None
            try:
                results: Any = _outcome(first)
            except ModelExecutionError:
                if parts is None or len(parts) < 2:
                    raise
                # One bad row fails by itself, after those before it.
                yield from _one_by_one(
                    scheduler,
                    lambda part: front.apart(part, limit),
                    front.result_of,
                    iter(parts),
                    1 if scheduler.room else len(parts),
                )
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
    scheduler.submit(request, future.request_ended, block=True)
    return future


def _until_it_breaks(items: Iterator[Any], broken: list[Exception]) -> Iterator[Any]:
    """Yield the items; what their source raises is put into ``broken``, to be told after the results before it."""
    try:
        yield from items
    except Exception as error:
        broken.append(error)


def _outcome(pending: Pending) -> InferResult:
    if not isinstance(pending, InferFuture):
        raise pending
    try:
        return pending.result()
    except BaseException:
        pending.cancel()  # Ctrl-C during the wait: nobody will want it; one that failed is over anyway
        raise


def _cancel(pending: Iterable[Pending]) -> None:
    for item in pending:
        if isinstance(item, InferFuture):
            item.cancel()
