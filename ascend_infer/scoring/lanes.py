"""Places at the devices: who may run a batch now, and how busy each device was."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ascend_infer.scoring.model import ScoredSession

__all__ = ["Lanes", "lanes_of"]


def lanes_of(session: ScoredSession) -> int:
    """Return how many batches of a session may be under way at once: its instances times their slots."""
    details = session.details
    return max(1, int(details.get("instances", 1))) * max(1, int(details.get("slots", 1)))


class Lanes:
    """Hands out the sessions, each as often as it can run batches at the same time, the least busy first.

    Thread safety: all methods, from any number of threads.
    """

    def __init__(self, sessions: Sequence[ScoredSession]) -> None:
        self.sessions = tuple(sessions)
        self._condition = threading.Condition()
        counts = [lanes_of(session) for session in sessions]
        self.total = sum(counts)
        # Dealt in turn, so that every device gets its first batch before any gets a second.
        self._free = deque(
            index for turn in range(max(counts)) for index, count in enumerate(counts) if turn < count
        )
        self._running = [0] * len(counts)
        self._since = [0] * len(counts)
        self._busy = [0] * len(counts)
        self._waiting = 0

    @contextmanager
    def lane(self) -> Iterator[tuple[ScoredSession, int]]:
        """Wait for a place; gives its session and the nanoseconds that it took to get it."""
        asked = time.perf_counter_ns()
        with self._condition:
            self._waiting += 1
            try:
                while not self._free:
                    self._condition.wait()
            finally:
                self._waiting -= 1
            index = self._free.popleft()
            begun = time.perf_counter_ns()
            if self._running[index] == 0:
                self._since[index] = begun
            self._running[index] += 1
        try:
            yield self.sessions[index], begun - asked
        finally:
            with self._condition:
                self._running[index] -= 1
                if self._running[index] == 0:
                    self._busy[index] += time.perf_counter_ns() - self._since[index]
                self._free.append(index)
                self._condition.notify()

    @property
    def waiting(self) -> int:
        """How many wait for a place now."""
        return self._waiting

    def busy_ns(self) -> list[int]:
        """Return for each session how long it had at least one batch, so far."""
        now = time.perf_counter_ns()
        with self._condition:
            return [
                busy + (now - since if running else 0)
                for busy, since, running in zip(self._busy, self._since, self._running, strict=True)
            ]
