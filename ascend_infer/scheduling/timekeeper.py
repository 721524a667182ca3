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
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from ascend_infer._native import RequestQueue

__all__ = ["at", "watch"]

logger = logging.getLogger("ascend_infer")

#: Seconds without anything to look at, after which the thread ends.
_IDLE = 1.0

#: Entries that may lie there in vain, beside as many as there are others, before they are cleared away.
_SPARE = 16

#: Of no entry.
_NEVER = (2**63, -1)

_tie = itertools.count()


class _Entry(NamedTuple):
    when: int
    number: int
    key: Hashable  # one entry of a key counts: that with the number in `counting`
    target: weakref.ref[object]
    look: Callable[..., int]


class _Timekeeper:
    def __init__(self) -> None:
        self.lock = _thread.allocate_lock()
        self.cell = _thread.allocate_lock()
        self.cell.acquire()
        self.heap: list[_Entry] = []
        self.counting: dict[Hashable, tuple[int, int]] = {}  # key -> when and number of its entry
        self.room = _SPARE
        self.running = False
        self.sleeping_until = 0

    def add(self, when: int, target: object, look: Callable[..., int], key: Hashable = None) -> None:
        """Add an entry; where one with the same key counts, the earlier of the two does from now on.

        A look that comes too early does no harm: it says when to look again.
        """
        number = next(_tie)
        entry = _Entry(when, number, number if key is None else key, weakref.ref(target), look)
        with self.lock:
            # A signal may raise after any of these steps; the next call makes up for those that were left out.
            if when < self.counting.get(entry.key, _NEVER)[0]:
                if len(self.heap) >= self.room:
                    self.clear()
                heapq.heappush(self.heap, entry)
                self.counting[entry.key] = (when, number)
            if not self.running:
                _thread.start_new_thread(self.serve, ())
            elif self.heap[0].when < self.sleeping_until and self.cell.locked():
                self.cell.release()

    def clear(self) -> None:
        self.heap = sorted(entry for entry in self.heap if self.counts(entry) and entry.target() is not None)
        self.counting = {entry.key: (entry.when, entry.number) for entry in self.heap}
        self.room = 2 * len(self.heap) + _SPARE

    def counts(self, entry: _Entry) -> bool:
        return self.counting.get(entry.key, _NEVER)[1] == entry.number

    def serve(self) -> None:
        with self.lock:
            if self.running:
                return
            self.running = True
        while True:
            now = time.perf_counter_ns()
            with self.lock:
                due = []
                while self.heap and (self.heap[0].when <= now or not self.counts(self.heap[0])):
                    entry = heapq.heappop(self.heap)
                    if self.counts(entry):
                        due.append(entry)
                        del self.counting[entry.key]
            for entry in due:
                target = entry.target()
                try:
                    if target is not None and (again := entry.look(target)):
                        self.add(again, target, entry.look, entry.key)
                except Exception:
                    logger.exception("a look at %r failed", target)
                del target
            with self.lock:
                now = time.perf_counter_ns()
                idle = not self.heap
                until = now + int(_IDLE * 1e9) if idle else self.heap[0].when
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
    _the_one.add(when, queue, _look, weakref.ref(queue))


def _look(queue: Any) -> int:
    again: int = queue.expire()
    return again


def _after_fork() -> None:
    global _the_one
    _the_one = _Timekeeper()


os.register_at_fork(after_in_child=_after_fork)
