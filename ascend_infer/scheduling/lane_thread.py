"""The threads that serve lanes: each takes batches from its model's queue and runs them.

They are raw threads on raw locks: a signal inside ``threading``'s own classes leaves their locks taken. They hold the
queue and the runner, not the session, so that a dropped session can be collected.
"""

from __future__ import annotations

import _thread
import atexit
import os
import time
import weakref
from collections.abc import Callable, Iterable

from ascend_infer._native import Lane, RequestQueue
from ascend_infer.scheduling.execution import BatchRunner

__all__ = ["LaneThread", "live_threads"]

#: Seconds that the end of the interpreter waits for all threads together.
_EXIT_LIMIT = 2.0

#: Seconds between two looks at callbacks that are called meanwhile.
_LOOK = 0.002

_live: weakref.WeakSet[LaneThread] = weakref.WeakSet()


class LaneThread:
    """One lane's own thread; the queue starts it when the lane is first needed, with what is the lane's ``serve``.

    Parameters
    ----------
    queue : RequestQueue
    runner : BatchRunner
    lane : Lane
    left : callable
        Called with the lane by a thread that ends although the queue is open: its lane is out of service.
    """

    def __init__(
        self, queue: RequestQueue, runner: BatchRunner, lane: Lane, left: Callable[[Lane], None]
    ) -> None:
        self.queue = queue
        self.runner = runner
        self.lane = lane
        self.ended = False
        self._left = left
        self._ident = 0
        self._over = _thread.allocate_lock()
        self._over.acquire()
        lane.serve = self._serve
        _live.add(self)

    @property
    def alive(self) -> bool:
        """Whether it was started and has not ended."""
        return not self.ended and (self._ident != 0 or self.lane.started)

    @property
    def is_current(self) -> bool:
        """Whether it is the thread that asks."""
        return self._ident == _thread.get_ident()

    def join(self, timeout: float) -> bool:
        """Wait for the thread to end, for at most so many seconds; returns whether it has. Never waits for itself."""
        if self._ident == _thread.get_ident() or not self.alive:
            return True
        if not self.ended and self._over.acquire(timeout=max(0.0, timeout)):
            self._over.release()
        return self.ended

    def _serve(self) -> None:
        self._ident = _thread.get_ident()
        try:
            while (batch := self.queue.take(self.lane)) is not None:
                self.runner.run(self.lane, batch)
                # The wait for the next batch must not keep this one's arrays alive.
                del batch
        finally:
            self.ended = True
            self._over.release()
            if not self.queue.closed:
                self._left(self.lane)


def live_threads() -> int:
    """Return how many such threads, and threads for callbacks, there are in the process; for tests and diagnosis."""
    threads = list(_live)
    return sum(thread.alive for thread in threads) + sum(queue.calling for queue in _queues(threads))


def _queues(threads: Iterable[LaneThread]) -> set[RequestQueue]:
    return {thread.queue for thread in threads}


# A forked child has none of its parent's threads, and nothing to wait for at its end.
os.register_at_fork(after_in_child=_live.clear)


@atexit.register
def _end_all() -> None:
    """Have no thread inside a runtime while the interpreter goes away."""
    every = list(_live)
    threads = [thread for thread in every if thread.alive]
    for thread in threads:
        thread.queue.close(cancel_pending=True)
        batch = thread.lane.batch
        if batch is not None and batch.cancellation is not None:
            batch.cancellation.request()
    deadline = time.monotonic() + _EXIT_LIMIT
    for thread in threads:
        thread.join(deadline - time.monotonic())
    while any(queue.calls_elsewhere for queue in _queues(every)) and time.monotonic() < deadline:
        time.sleep(_LOOK)
