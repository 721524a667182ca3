"""perf_analyzer's rule for when a measurement may be believed."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["WINDOWS", "is_stable"]

#: How many windows in a row must agree.
WINDOWS = 3


def is_stable(throughputs: Sequence[float], latencies: Sequence[float], percentage: float) -> bool:
    """Return whether the last three windows agree.

    Parameters
    ----------
    throughputs : sequence of float
        Of each window so far, inferences a second.
    latencies : sequence of float
        Of each window so far, the mean or the chosen percentile.
    percentage : float
        The largest may be that much above the smallest, for throughput and for latency.
    """
    if len(throughputs) < WINDOWS:
        return False
    return _agree(throughputs[-WINDOWS:], percentage) and _agree(latencies[-WINDOWS:], percentage)


def _agree(values: Sequence[float], percentage: float) -> bool:
    least = min(values)
    # A window without a request says nothing.
    return least > 0 and max(values) / least <= 1 + percentage / 100
