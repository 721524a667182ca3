"""One thread for the process that looks at queues when something in them is over and no caller waits for it.

A blocking caller keeps its own time. Requests whose results go to futures and event loops need somebody who ends them
at their deadline also while every instance is busy; so do runs that nobody wants any more and that do not end.
"""

from __future__ import annotations

import _thread
import heapq
import itertools
import logging
import os
import time
import weakref
from collections.abc import Callable
from typing import Any

from ascend_infer._native import RequestQueue

__all__ = ["at", "watch"]

logger = logging.getLogger("ascend_infer")

#: Seconds without anything to look at, after which the thread ends.
_IDLE = 1.0

_tie = itertools.count()


class _Timekeeper:
    def __init__(self) -> None:
        self.lock = _thread.allocate_lock()
        self.cell = _thread.allocate_lock()
        self.cell.acquire()
        self.heap: list[tuple[int, int, weakref.ref[object], Callable[..., int]]] = []
        self.running = False
        self.sleeping_until = 0

    def add(self, when: int, target: object, look: Callable[..., int]) -> None:
        with self.lock:
            heapq.heappush(self.heap, (when, next(_tie), weakref.ref(target), look))
            # A signal may raise after any of these steps; the next call makes up for those that were left out.
            if not self.running:
                _thread.start_new_thread(self.serve, ())
            elif when < self.sleeping_until and self.cell.locked():
                self.cell.release()

    def serve(self) -> None:
        with self.lock:
            if self.running:
                return
            self.running = True
        while True:
            now = time.perf_counter_ns()
            with self.lock:
                due = []
                while self.heap and self.heap[0][0] <= now:
                    due.append(heapq.heappop(self.heap))
            for _, _, reference, look in due:
                target = reference()
                try:
                    if target is not None and (again := look(target)):
                        self.add(again, target, look)
                except Exception:
                    logger.exception("a look at %r failed", target)
                del target
            with self.lock:
                now = time.perf_counter_ns()
                idle = not self.heap
                until = now + int(_IDLE * 1e9) if idle else self.heap[0][0]
                if until <= now:
                    continue
                self.sleeping_until = until
            self.cell.acquire(timeout=(until - now) / 1e9)
            with self.lock:
                self.sleeping_until = 0
                self.cell.acquire(blocking=False)  # shut again, also when it was opened as the wait ended
                if idle and not self.heap:
                    self.running = False
                    return


_the_one = _Timekeeper()


def at(when: int, target: object, look: Callable[..., int]) -> None:
    """Have ``look(target)`` called at a moment of ``time.perf_counter_ns``; it returns when to look again, 0 for never.

    Thread safety: any thread. ``target`` is held weakly; ``look`` must not hold it.
    """
    _the_one.add(when, target, look)


def watch(queue: RequestQueue, when: int) -> None:
    """Have a queue's ``expire()`` called at a moment, and again when it says so."""
    at(when, queue, _look)


def _look(queue: Any) -> int:
    again: int = queue.expire()
    return again


def _after_fork() -> None:
    global _the_one
    _the_one = _Timekeeper()


os.register_at_fork(after_in_child=_after_fork)
