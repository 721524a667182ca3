"""What happened in one measurement window, or in several put together."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_infer.perf.server_times import ServerTimes

__all__ = ["Tally", "Window"]


@dataclass(slots=True)
class Tally:
    """What the callers saw since it was last asked for.

    Attributes
    ----------
    latencies : array of int64
        Nanoseconds, of each request that was answered; from when it was due, at a rate.
    delayed : int
        Requests that were sent after they were due, because all callers were busy.
    busy_ns : int
        Time that the callers spent inside requests.
    ended : int
        When the last request was answered; 0 where there was none.
    """

    latencies: array[int]
    delayed: int = 0
    busy_ns: int = 0
    ended: int = 0

    @classmethod
    def empty(cls) -> Tally:
        """Return one without requests."""
        return cls(array("q"))

    def add(self, other: Tally) -> None:
        """Put another one's requests to these."""
        self.latencies.extend(other.latencies)
        self.delayed += other.delayed
        self.busy_ns += other.busy_ns
        self.ended = max(self.ended, other.ended)


@dataclass(frozen=True, slots=True)
class Window:
    """One window.

    Attributes
    ----------
    duration_ns : int
    tally : Tally
    server : ServerTimes
    """

    duration_ns: int
    tally: Tally
    server: ServerTimes

    @classmethod
    def joined(cls, windows: Sequence[Window]) -> Window:
        """Return windows as one long one."""
        tally, server = Tally.empty(), ServerTimes()
        for window in windows:
            tally.add(window.tally)
            server += window.server
        return cls(sum(window.duration_ns for window in windows), tally, server)

    def throughput(self, batch: int) -> float:
        """Return rows a second, for requests of ``batch`` rows."""
        return len(self.tally.latencies) * batch * 1e9 / self.duration_ns if self.duration_ns else 0.0
