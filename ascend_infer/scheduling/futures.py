"""InferFuture: a concurrent.futures.Future of one request, which makes a lock only for those who wait on it."""

from __future__ import annotations

import _thread
import concurrent.futures
import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ascend_infer._native import Request, RequestQueue
from ascend_infer.errors import RequestCancelledError
from ascend_infer.timeouts import checked_timeout

if TYPE_CHECKING:
    from ascend_infer.result import InferResult

    Base = concurrent.futures.Future[InferResult]
else:
    Base = concurrent.futures.Future

__all__ = ["InferFuture"]

logger = logging.getLogger("ascend_infer")

#: Seconds; a signal that comes just before a wait begins is noticed only after it.
_SLICE = 0.05

#: Held while a result is made, which happens once for each future; a lock for each of them would cost more.
_settling = threading.Lock()

_MAIN = threading.main_thread().ident


class InferFuture(Base):
    """What ``Session.submit`` returns.

    Notes
    -----
    Works with ``concurrent.futures.wait``, ``as_completed`` and ``asyncio.wrap_future``. Differs from a plain Future in
    one thing: ``cancel()`` also succeeds on a request that runs; the run goes on, its result is dropped.
    """

    # The base's own attributes, by which concurrent.futures waits for any of several, are made when somebody asks.

    def __init__(
        self, queue: RequestQueue, request: Request, finish: Callable[[Request], InferResult]
    ) -> None:
        self._queue = queue
        self._request = request
        self._finish = finish
        self._result: InferResult | None = None
        self._error: BaseException | None = None
        self._settled = False
        self._asked = False
        self._callbacks: list[Callable[[Any], object]] = []
        self._cells: list[Any] = []
        self._made_condition: threading.Condition | None = None
        self._waiters: list[Any] = []
        self._ended = False
        self._told = False

    @property
    def request_id(self) -> str:
        """As the caller gave it."""
        return self._request.request_id

    @property
    def parts(self) -> list[Request] | None:
        """The requests that travel in this one, until it is done; None for an ordinary one."""
        return self._request.parts

    def cancel(self) -> bool:
        """Take the request back; returns whether it will have no result."""
        if not self.done():
            self._asked = True
            self._queue.cancel(self._request)
        return self._cancelled

    def cancelled(self) -> bool:
        """Whether it was taken back."""
        return self._cancelled

    @property
    def _cancelled(self) -> bool:
        # It may have ended by itself while it was asked to.
        request = self._request
        return self._asked and request.done and isinstance(request.error, RequestCancelledError)

    def running(self) -> bool:
        """Whether an instance has it."""
        return self._request.running

    def done(self) -> bool:
        """Whether there is a result, an error or a cancellation."""
        return self._request.done

    def result(self, timeout: float | None = None) -> InferResult:
        """Return the result; blocks.

        Raises
        ------
        concurrent.futures.CancelledError
        TimeoutError
            It is not there within ``timeout`` seconds; the request goes on.
        """
        self._wait(timeout)
        self._settle()
        if self._cancelled:
            raise concurrent.futures.CancelledError()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the error, None where there is a result; blocks as ``result`` does."""
        self._wait(timeout)
        self._settle()
        if self._cancelled:
            raise concurrent.futures.CancelledError()
        return self._error

    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        """Have ``fn(future)`` called when it is done; at once where it is."""
        if self.done():
            self._call(fn)
            return
        self._callbacks.append(fn)
        if self.done():
            self._call_back()  # it may have ended just before, when there was nothing to call

    def request_ended(self, request: Request) -> Callable[[], None] | None:
        """Tell everyone who waits, at once; for the scheduler. Returns what calls the users' callbacks, if any."""
        while self._cells:
            self._cells.pop().release()
        self._ended = True
        condition = self._made_condition
        if condition is not None:
            with condition:
                self._told = True
                for waiter in self._waiters:
                    if self._cancelled:
                        waiter.add_cancelled(self)
                    elif request.error is not None:
                        waiter.add_exception(self)
                    else:
                        waiter.add_result(self)
                condition.notify_all()
        return self._call_back if self._callbacks else None

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        if self._made_condition is None:
            with _settling:
                if self._made_condition is None:
                    condition = threading.Condition()
                    with condition:  # whoever finds it waits until it is known what was before it
                        self._made_condition = condition
                        self._told = self._ended
        return self._made_condition

    @property
    def _state(self) -> str:  # type: ignore[override]
        # concurrent.futures' own words. Nothing changes for who holds the condition, and counts.
        if self._request.done if self._made_condition is None else self._told:
            return "CANCELLED_AND_NOTIFIED" if self._cancelled else "FINISHED"
        return "RUNNING" if self._request.running else "PENDING"

    def _wait(self, timeout: float | None) -> None:
        seconds = math.inf if timeout is None else checked_timeout(timeout)
        if self._request.done:
            return
        cell = _thread.allocate_lock()
        cell.acquire()
        self._cells.append(cell)
        if self.done():
            return
        main = _thread.get_ident() == _MAIN
        deadline = time.monotonic() + seconds
        while True:
            left = max(0.0, deadline - time.monotonic())
            piece = min(left, _SLICE) if main else left
            if cell.acquire(timeout=-1 if piece == math.inf else piece) or self._request.done:
                return
            if time.monotonic() >= deadline:
                with contextlib.suppress(ValueError):  # the request has just ended
                    self._cells.remove(cell)
                raise TimeoutError(f"no result within {timeout:g} s; the request goes on")

    def _settle(self) -> None:
        if self._cancelled:
            return
        with _settling:
            if not self._settled:
                try:
                    self._result = self._finish(self._request)
                except BaseException as error:
                    self._error = error
                self._settled = True

    def _call_back(self) -> None:
        while self._callbacks:
            try:
                callback = self._callbacks.pop(0)
            except IndexError:
                return  # another thread took the last one
            self._call(callback)

    def _call(self, callback: Callable[[Any], object]) -> None:
        try:
            callback(self)
        except Exception:
            logger.exception("a callback of %r failed", self)

    def __repr__(self) -> str:
        return f"<InferFuture of {self._queue.model} ({self._state.lower()})>"
