"""What is said of many latencies: mean, standard deviation, percentiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PERCENTILES", "Latencies"]

#: Those that perf_analyzer always reports.
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class Latencies:
    """A summary of latencies in nanoseconds.

    Attributes
    ----------
    count : int
    mean, deviation : float
        ``deviation`` is the standard deviation of a sample; 0 for one request.
    percentiles : mapping of int to int
        By percent, ascending. Each is a latency that occurred: the one at index ``p / 100 * (count - 1)``, rounded, of
        the sorted latencies, as in perf_analyzer.
    """

    count: int
    mean: float
    deviation: float
    percentiles: Mapping[int, int]

    @classmethod
    def of(cls, values: Any, extra: int | None = None) -> Latencies:
        """Summarise a buffer of int64; all numbers are 0 where it is empty.

        Parameters
        ----------
        values : array of int64
        extra : int, optional
            A percentile besides the usual ones.
        """
        ordered = np.sort(np.asarray(values, np.int64))
        count = len(ordered)
        wanted = percents(extra)
        if not count:
            return cls(0, 0.0, 0.0, dict.fromkeys(wanted, 0))
        return cls(
            count,
            float(ordered.mean()),
            float(ordered.std(ddof=1)) if count > 1 else 0.0,
            {percent: int(ordered[int(percent / 100 * (count - 1) + 0.5)]) for percent in wanted},
        )

    def stabilizing(self, percentile: int | None) -> float:
        """Return what must be stable: the mean, or a percentile."""
        return self.mean if percentile is None else self.percentiles[percentile]


def percents(extra: int | None) -> Iterable[int]:
    """Return the percentiles that are reported, ascending."""
    return sorted({*PERCENTILES, *(() if extra is None else (extra,))})
