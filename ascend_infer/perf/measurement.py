"""What was measured at one level of load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ascend_infer.perf.latencies import Latencies
from ascend_infer.perf.server_times import ServerTimes
from ascend_infer.perf.settings import Settings
from ascend_infer.perf.window import Window

__all__ = ["Measurement"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """The last three windows put together, or the one of a fixed number of requests.

    Attributes
    ----------
    kind : {"concurrency", "rate"}
    level : float
        Callers at the same time, or requests a second.
    stable : bool
        The windows agreed; False: the numbers are of the last windows before it was given up.
    windows : int
        How many were measured.
    over_limit : bool
        The latency was not below the limit, or no request was answered at all.
    requests : int
    duration_s : float
    throughput : float
        Rows a second.
    request_rate : float
        Requests a second that were answered.
    latencies : Latencies
        From when a request was sent, or at a rate was due, to its answer.
    delayed : int
        Requests that were sent late because all callers were busy.
    overhead : float
        The callers' share of time outside of requests, 0 to 1, where they send at once.
    server : ServerTimes
    """

    kind: Literal["concurrency", "rate"]
    level: float
    stable: bool
    windows: int
    over_limit: bool
    requests: int
    duration_s: float
    throughput: float
    request_rate: float
    latencies: Latencies
    delayed: int
    overhead: float
    server: ServerTimes

    @classmethod
    def of(
        cls,
        kind: Literal["concurrency", "rate"],
        level: float,
        windows: Sequence[Window],
        count: int,
        stable: bool,
        settings: Settings,
    ) -> Measurement:
        """Summarise windows; ``count`` is how many there were before them, and they."""
        whole = Window.joined(windows)
        latencies = Latencies.of(whole.tally.latencies, settings.percentile)
        limit = settings.latency_limit_ms * 1e6
        span = whole.duration_ns * level
        return cls(
            kind,
            level,
            stable,
            count,
            bool(limit) and (latencies.stabilizing(settings.percentile) >= limit or not latencies.count),
            latencies.count,
            whole.duration_ns / 1e9,
            whole.throughput(settings.batch),
            whole.throughput(1),
            latencies,
            whole.tally.delayed,
            max(0.0, 1 - whole.tally.busy_ns / span) if kind == "concurrency" and span else 0.0,
            whole.server,
        )
