"""The ways to run a loaded model: one request or many, waiting or not."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ascend_infer.errors import InvalidInputError
from ascend_infer.input_array import Casting
from ascend_infer.options import (
    checked_batched,
    checked_casting,
    checked_iterable,
    checked_priority,
    checked_window,
)
from ascend_infer.output_array import fill_out
from ascend_infer.result import InferResult
from ascend_infer.timeouts import given_timeout

if TYPE_CHECKING:
    from ascend_infer._native import Request
    from ascend_infer.loading import Loaded
    from ascend_infer.scheduling.futures import InferFuture

__all__ = ["Calls"]


class Calls:
    """What :class:`ascend_infer.Session` runs requests with; it is never made by itself."""

    _core: Loaded | None
    _cast: Casting

    def _opened(self) -> Loaded:
        raise NotImplementedError

    def infer(
        self,
        inputs: Any = None,
        outputs: Sequence[str] | None = None,
        out: Any = None,
        timeout: float | None = None,
        request_id: str = "",
        *,
        batched: bool = True,
        cast: Casting | None = None,
        priority: int = 0,
    ) -> InferResult:
        """Run the model once; blocks until the result is there.

        Parameters
        ----------
        inputs : mapping of str to array-like, or array-like
            Arrays by input name, or a bare array where the model has one input. With ``max_batch_size > 0``
            the first dimension is the batch. Anything with ``__array__``, ``__dlpack__`` or the buffer
            protocol will do; arrays are read during the call only.
        outputs : sequence of str, optional
            Wanted outputs; all of them where left out.
        out : mapping of str to ndarray, or ndarray, optional
            Arrays to write outputs into: C-contiguous, of the output's dtype and shape, not overlapping; a bare
            array where there is one output. The result holds these arrays.
        timeout : float, optional
            Seconds until the result is no longer wanted.
        request_id : str
            Comes back as ``result.request_id``.
        batched : bool
            False: inputs and outputs are one sample each, without the batch dimension.
        cast : {"no", "safe", "same_kind", "unsafe"}, optional
            In place of the session's.
        priority : int
            Which of the configuration's priority levels the request waits in; 1 is served first, 0 means the default.

        Returns
        -------
        InferResult
            Arrays by output name, owned by the caller.

        Raises
        ------
        InvalidInputError
            A name, data type or shape does not fit; says which, what was got, what is expected.
        DeadlineExceededError
            ``timeout``, or the queue policy's, passed. The session stays usable.
        QueueFullError
            As many requests wait as the queue policy allows.
        ModelExecutionError
            The model failed on these inputs.
        ClosedError, ForkError

        Notes
        -----
        Ctrl-C ends the call within a fraction of a second also while the model computes, and the session stays
        usable. The GIL is released while the model computes.
        """
        core = self._core or self._opened()
        if (
            outputs is None
            and out is None
            and timeout is None
            and cast is None
            and batched is True
            and not priority
        ):
            result: InferResult | None = core.requests.front.infer(inputs, request_id)
            if result is not None:
                return result
        return self._infer(core, inputs, outputs, out, timeout, request_id, batched, cast, priority)

    def _infer(
        self,
        core: Loaded,
        inputs: Any,
        outputs: Sequence[str] | None,
        out: Any,
        timeout: float | None,
        request_id: str,
        batched: bool,
        cast: Casting | None,
        priority: int,
    ) -> InferResult:
        """Run what is more than plain arrays: conversions, chosen outputs, own output arrays, a deadline."""
        casting = self._cast if cast is None else checked_casting(cast)
        batched = checked_batched(batched)
        signature = core.requests.signature
        targets = None
        with core.requests.counting_refusals():
            prepared = signature.prepare({} if inputs is None else inputs, outputs, casting, batched)
            if out is not None:
                out = signature.check_out(out, prepared)
                targets = signature.targets(out, prepared)
        if timeout is not None:
            timeout = given_timeout(timeout)
        request = core.requests.request_of(prepared, timeout, request_id, checked_priority(priority))
        arrays = signature.finish(prepared, core.scheduler.run(request, targets))
        if out:
            arrays = dict(zip(arrays, fill_out(tuple(arrays), tuple(arrays.values()), out), strict=True))
        return InferResult(arrays, core.origin, request)

    def submit(
        self,
        inputs: Any = None,
        outputs: Sequence[str] | None = None,
        timeout: float | None = None,
        request_id: str = "",
        *,
        batched: bool = True,
        cast: Casting | None = None,
        priority: int = 0,
        block: bool = False,
    ) -> InferFuture:
        """Queue a request and return at once.

        Parameters are those of :meth:`infer`. The inputs' memory is read until the request is done.

        Parameters
        ----------
        block : bool
            Where the queue is full, wait until there is room, for ``timeout`` at most, instead of raising
            ``QueueFullError``. Not in a future's callback: the thread that would make room runs it.

        Returns
        -------
        InferFuture
            A ``concurrent.futures.Future`` of the result. ``cancel()`` takes a request out of the queue; one that runs
            goes on, and its result is dropped. Callbacks run on the thread that ran or cancelled the request; on one of
            their own where something else ended it (a deadline, ``close()``). What they raise is logged.

        Raises
        ------
        InvalidInputError, QueueFullError, ClosedError, ForkError
            At once; what happens later comes through the future.
        DeadlineExceededError
            With ``block``: there was no room within ``timeout``.
        """
        core = self._opened()
        request = self._request(core, inputs, outputs, timeout, request_id, batched, cast, priority)
        from ascend_infer.scheduling.futures import InferFuture

        future = InferFuture(core.scheduler.queue, request, core.requests.result)
        core.scheduler.submit(request, future.request_ended, block)
        return future

    def ainfer(
        self,
        inputs: Any = None,
        outputs: Sequence[str] | None = None,
        timeout: float | None = None,
        request_id: str = "",
        *,
        batched: bool = True,
        cast: Casting | None = None,
        priority: int = 0,
    ) -> Coroutine[Any, Any, InferResult]:
        """Run the model once without blocking the event loop: ``result = await session.ainfer(inputs)``.

        Parameters, result and errors are those of :meth:`infer`, but the inputs' memory is read until the result is
        there. The request is queued by the call, not by the ``await``. It takes no thread, and no task of its own;
        results that are ready together wake the loop once.
        Cancelling the task that awaits it takes the request out of the queue.

        Raises
        ------
        RuntimeError
            No event loop runs in this thread.
        """
        core = self._opened()
        requests = core.requests
        request = None
        if outputs is None and timeout is None and cast is None and batched is True and not priority:
            request = requests.front.request(inputs, request_id)
        if request is None:
            request = self._request(core, inputs, outputs, timeout, request_id, batched, cast, priority)
        call: Coroutine[Any, Any, InferResult] = core.scheduler.await_in_loop(request, requests.result)
        return call

    def map(
        self,
        iterable: Iterable[Any],
        outputs: Sequence[str] | None = None,
        *,
        window: int | None = None,
        batched: bool = True,
        timeout: float | None = None,
        cast: Casting | None = None,
    ) -> Iterator[InferResult]:
        """Run the model on each of many inputs; results come in the same order, while later ones are under way.

        Parameters
        ----------
        iterable : iterable of inputs
            Each as for :meth:`infer`; read on the calling thread, no more than ``window`` ahead.
        outputs, batched, cast
            As for :meth:`infer`.
        window : int, optional
            Requests under way at most; by default enough to keep all instances busy.
        timeout : float, optional
            Seconds for each, from when it is sent.

        Yields
        ------
        InferResult

        Raises
        ------
        The error of the first request that failed, or what the iterable raised, in its place; those after it are
        cancelled.

        Notes
        -----
        With a micro-batcher, inputs that fit together travel as one request of up to ``max_batch_size`` rows; fewer
        of an iterable that is slower than the model.
        Closing the iterator, or dropping it, cancels what is under way.
        """
        core = self._opened()
        casting = self._cast if cast is None else checked_casting(cast)
        seconds = None if timeout is None else given_timeout(timeout)
        from ascend_infer.streaming import stream

        ahead = checked_window(window)
        items, batched = checked_iterable(iterable), checked_batched(batched)
        return stream(core.scheduler, core.requests, items, outputs, ahead, batched, casting, seconds)

    def infer_many(
        self,
        inputs: Iterable[Any],
        outputs: Sequence[str] | None = None,
        *,
        batched: bool = True,
        timeout: float | None = None,
        cast: Casting | None = None,
    ) -> list[InferResult]:
        """Run the model on each of a list of inputs; the results in the same order. See :meth:`map`."""
        return list(self.map(inputs, outputs, batched=batched, timeout=timeout, cast=cast))

    def _request(
        self,
        core: Loaded,
        inputs: Any,
        outputs: Sequence[str] | None,
        timeout: float | None,
        request_id: str,
        batched: bool,
        cast: Casting | None,
        priority: int,
    ) -> Request:
        casting = self._cast if cast is None else checked_casting(cast)
        seconds = None if timeout is None else given_timeout(timeout)
        level = checked_priority(priority)
        batched = checked_batched(batched)
        return core.requests.make(inputs, outputs, seconds, request_id, batched, casting, level)

    def __call__(self, /, *args: Any, **inputs: Any) -> InferResult:
        """Run the model on inputs given as keywords, or on a bare array: ``session(images=x)``, ``session(x)``."""
        if args and (inputs or len(args) > 1):
            model = self._opened().origin.model
            raise InvalidInputError(
                f"model {model!r}: give inputs by name, session(name=array, ...), or one bare array; "
                f"got {len(args)} bare and {len(inputs)} named",
                expected="named inputs or one bare array",
                got=f"{len(args)} bare and {len(inputs)} named",
            )
        return self.infer(args[0] if args else inputs)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Any]:
        """Run the model as ``onnxruntime.InferenceSession.run`` does: outputs as a list, in order."""
        result = self.infer(input_feed, list(output_names) if output_names else None)
        return [result[name] for name in (output_names or result)]
