"""The threads that serve lanes: each takes batches from its model's queue and runs them.

They are raw threads on raw locks: a signal inside ``threading``'s own classes leaves their locks taken. They hold the
queue and the runner, not the session, so that a dropped session can be collected.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import time
import weakref

from ascend_infer._native import Lane, RequestQueue
from ascend_infer.scheduling.execution import BatchRunner

__all__ = ["LaneThread", "live_threads"]

logger = logging.getLogger("ascend_infer")

#: Seconds that the end of the interpreter waits for all threads together.
_EXIT_LIMIT = 2.0

_live: weakref.WeakSet[LaneThread] = weakref.WeakSet()


class LaneThread:
    """One lane's own thread."""

    def __init__(self, queue: RequestQueue, runner: BatchRunner, lane: Lane) -> None:
        self.queue = queue
        self.runner = runner
        self.lane = lane
        self.ended = False
        self._ident = 0
        self._over = _thread.allocate_lock()
        self._over.acquire()
        _live.add(self)
        _thread.start_new_thread(self._serve, ())

    def join(self, timeout: float) -> bool:
        """Wait for the thread to end, for at most so many seconds; returns whether it has. Never waits for itself."""
        if self._ident == _thread.get_ident():
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
            if not self.lane.usable and not self.queue.closed and not self.lane.instance.reason:
                # It was given up for a run that has ended after all.
                self.queue.restore(self.lane)
                self.lane.instance.state = "READY"
                logger.warning("%s: the run that was given up has ended; in service again", self.lane.name)


def live_threads() -> int:
    """Return how many such threads there are in the process; for tests and diagnosis."""
    return sum(not thread.ended for thread in list(_live))


@atexit.register
def _end_all() -> None:
    """Have no thread inside a runtime while the interpreter goes away."""
    threads = [thread for thread in list(_live) if not thread.ended]
    for thread in threads:
        thread.queue.close(cancel_pending=True)
        batch = thread.lane.batch
        if batch is not None and batch.cancellation is not None:
            batch.cancellation.request()
    deadline = time.monotonic() + _EXIT_LIMIT
    for thread in threads:
        thread.join(deadline - time.monotonic())
