"""The time that a load runs by; tests have one of their own."""

from __future__ import annotations

import threading
import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Nanoseconds that only grow."""

    def now(self) -> int:
        """Return the time in nanoseconds."""

    def sleep_until(self, when: int, stop: threading.Event) -> None:
        """Return at ``when`` or soon after, or soon after ``stop`` is set."""


class SystemClock:
    """``time.perf_counter_ns``."""

    #: Nanoseconds for which a plain sleep is good: it wakes up closer to its time than an event does.
    _SHORT = 20_000_000

    def now(self) -> int:
        """Return the time in nanoseconds."""
        return time.perf_counter_ns()

    def sleep_until(self, when: int, stop: threading.Event) -> None:
        """Sleep; the system may be some ten microseconds late."""
        while (left := when - time.perf_counter_ns()) > self._SHORT:
            if stop.wait((left - self._SHORT // 2) / 1e9):
                return
        if left > 0:
            time.sleep(left / 1e9)
