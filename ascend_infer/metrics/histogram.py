"""Durations counted in buckets that grow with the value; what a snapshot holds of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

__all__ = ["BUCKETS", "Histogram", "bucket_bounds", "bucket_of"]

#: 32 buckets to a doubling: the middle of a bucket is within 1/64 of everything in it. As in latency_histogram.hpp.
_SUB_BITS = 5
_TOP_BITS = 42

#: Number of buckets; the last one also has all that is longer than 73 minutes.
BUCKETS = (_TOP_BITS - _SUB_BITS + 1) << _SUB_BITS


def bucket_of(value_ns: int) -> int:
    """Return the bucket that a duration is counted in."""
    value = min(max(value_ns, 0), (1 << _TOP_BITS) - 1)
    shift = max(value.bit_length() - 1 - _SUB_BITS, 0)
    return (shift << _SUB_BITS) + (value >> shift)


def bucket_bounds(bucket: int) -> tuple[int, int]:
    """Return the first duration of a bucket and the first that is beyond it, in nanoseconds."""
    shift = max((bucket >> _SUB_BITS) - 1, 0)
    low = (bucket - (shift << _SUB_BITS)) << shift
    return low, low + (1 << shift)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many durations fell into which bucket.

    Attributes
    ----------
    counts : tuple of (int, int)
        Bucket and count, by rising bucket; buckets without any are left out.
    """

    counts: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        """All that was counted."""
        return sum(count for _, count in self.counts)

    def quantile(self, share: float) -> float | None:
        """Return the duration that this share of all stays within, in nanoseconds, right to 1.6 %.

        Parameters
        ----------
        share : float
            0.99 for the 99th percentile.

        Returns
        -------
        float or None
            None when nothing was counted.
        """
        return self.quantiles([share])[0]

    def quantiles(self, shares: Iterable[float]) -> list[float | None]:
        """Return several of them at once; see :meth:`quantile`."""
        running = list(accumulate(count for _, count in self.counts))
        if not running:
            return [None for _ in shares]
        return [self._middle(bisect_left(running, min(max(share, 0), 1) * running[-1])) for share in shares]

    def below(self, bound_ns: int) -> int:
        """Count what is shorter than a bound; exact where the bound is a power of two, or below 64."""
        end = bucket_of(bound_ns)
        return sum(count for bucket, count in self.counts if bucket < end)

    def __add__(self, other: Histogram) -> Histogram:
        return self._combined(other, 1)

    def __sub__(self, earlier: Histogram) -> Histogram:
        return self._combined(earlier, -1)

    def _combined(self, other: Histogram, sign: int) -> Histogram:
        sums = dict(self.counts)
        for bucket, count in other.counts:
            sums[bucket] = sums.get(bucket, 0) + sign * count
        return Histogram(tuple(sorted((bucket, count) for bucket, count in sums.items() if count)))

    def _middle(self, position: int) -> float:
        low, end = bucket_bounds(self.counts[position][0])
        return (low + end - 1) / 2
