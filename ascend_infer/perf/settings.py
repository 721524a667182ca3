"""How a load is measured; the defaults are perf_analyzer's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ascend_infer.errors import InvalidOptionError
from ascend_infer.perf.arrivals import Distribution

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a load is measured.

    Attributes
    ----------
    mode : {"time_windows", "count_windows"}
        Windows last ``interval_ms``; or until ``window_requests`` requests are answered, and a second at least.
    interval_ms : int
    window_requests : int
    stability_percentage : float
        By how much the largest of three windows may be above the smallest, in throughput and latency.
    max_trials : int
        Windows until stability is given up.
    percentile : int or None
        Which latency has to be stable and below the limit; the mean where None.
    latency_limit_ms : int
        Ends the search once the latency is at or above it; 0: there is no limit.
    warmup_requests : int
        Answered before anything is counted.
    request_count : int
        Measure exactly so many requests in one window, without asking for stability; 0: windows.
    distribution : {"constant", "poisson"}
        Of the times between requests, where they come at a rate.
    callers : int
        Where they come at a rate: how many may be in flight.
    batch : int
        Rows of a request.
    seed : int
        Of random times between requests.

    Raises
    ------
    InvalidOptionError
        A number that cannot be.
    """

    mode: Literal["time_windows", "count_windows"] = "time_windows"
    interval_ms: int = 5000
    window_requests: int = 50
    stability_percentage: float = 10
    max_trials: int = 10
    percentile: int | None = None
    latency_limit_ms: int = 0
    warmup_requests: int = 0
    request_count: int = 0
    distribution: Distribution = "constant"
    callers: int = 16
    batch: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (
            ("interval_ms", 1), ("window_requests", 1), ("max_trials", 1), ("latency_limit_ms", 0),
            ("warmup_requests", 0), ("request_count", 0), ("callers", 1), ("batch", 1),
        ):  # fmt: skip
            if getattr(self, name) < least:
                raise InvalidOptionError(
                    f"{name}: got {getattr(self, name)}, expected at least {least}",
                    option=name,
                    got=getattr(self, name),
                )
        if not self.stability_percentage >= 0:
            raise InvalidOptionError(
                f"stability_percentage: got {self.stability_percentage}, expected 0 or more",
                option="stability_percentage",
                got=self.stability_percentage,
            )
        if self.percentile is not None and not 1 <= self.percentile <= 99:
            raise InvalidOptionError(
                f"percentile: got {self.percentile}, expected 1 to 99",
                option="percentile",
                got=self.percentile,
            )
