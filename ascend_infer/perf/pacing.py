"""When a caller sends its next request: as soon as it is free, or when one is due."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Protocol

from ascend_infer.perf.clock import Clock

__all__ = ["AtOnce", "OnSchedule", "Pacing"]


class Pacing(Protocol):
    """Hands out requests to callers; any number of them may ask at the same time."""

    def next(self) -> int | None:
        """Wait until a request is due, and return since when it is: its latency counts from there.

        None when there are no more.
        """


class AtOnce:
    """Requests are due when somebody asks: as many in flight as there are callers.

    Parameters
    ----------
    clock : Clock
    stop : Event
        No more requests once it is set.
    limit : int, optional
        How many requests there are.
    """

    def __init__(self, clock: Clock, stop: threading.Event, limit: int | None = None) -> None:
        self._clock = clock
        self._stop = stop
        self._left = limit
        self._lock = threading.Lock()

    def next(self) -> int | None:
        """Return now, at once."""
        if self._stop.is_set() or not self._one_is_left():
            return None
        return self._clock.now()

    def _one_is_left(self) -> bool:
        if self._left is None:
            return True
        with self._lock:
            self._left -= 1
            return self._left >= 0


class OnSchedule:
    """Requests are due at times that no answer changes.

    A request whose time has come while all callers wait for answers stays due from that time, and so does every
    request behind it. Counting from when it could be sent would leave out exactly the waits that a slow moment
    causes (coordinated omission).

    Parameters
    ----------
    clock : Clock
    stop : Event
    offsets : iterator of int
        Nanoseconds from ``begin``, ascending.
    begin : int
    limit : int, optional
        How many requests there are.
    """

    def __init__(
        self,
        clock: Clock,
        stop: threading.Event,
        offsets: Iterator[int],
        begin: int,
        limit: int | None = None,
    ) -> None:
        self._clock = clock
        self._stop = stop
        self._offsets = offsets
        self._begin = begin
        self._left = limit
        self._lock = threading.Lock()

    def next(self) -> int | None:
        """Take the next time, and wait for it."""
        with self._lock:
            if self._stop.is_set() or self._left == 0:
                return None
            if self._left is not None:
                self._left -= 1
            due = self._begin + next(self._offsets)
        if self._clock.now() <= due:
            self._clock.sleep_until(due, self._stop)
            if self._stop.is_set():
                return None
        return due
