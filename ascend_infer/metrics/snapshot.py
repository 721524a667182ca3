"""A model's counters at one moment, and the difference of two moments. Imports nothing compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ascend_infer.metrics.histogram import Histogram

__all__ = ["FAILURE_REASONS", "PHASES", "BatchSizeSums", "CountersSnapshot", "Phases"]

#: What ``record_failure``'s reasons 0 to 3 are called.
FAILURE_REASONS = ("REJECTED", "CANCELED", "BACKEND", "OTHER")

#: The durations of a request, in the order of all tuples here.
PHASES = ("request", "queue", "compute_input", "compute_infer", "compute_output")

Phases = tuple[Histogram, Histogram, Histogram, Histogram, Histogram]

_EMPTY: Phases = (Histogram(), Histogram(), Histogram(), Histogram(), Histogram())


class BatchSizeSums(NamedTuple):
    """What executions of one number of rows took; failed executions are among them.

    Attributes
    ----------
    rows : int
    executions : int
    input_ns, infer_ns, output_ns : int
        Sums over them.
    """

    rows: int
    executions: int
    input_ns: int
    infer_ns: int
    output_ns: int


@dataclass(frozen=True, slots=True)
class CountersSnapshot:
    """Everything that one model counted since it was loaded. All times are nanoseconds.

    Attributes
    ----------
    pending : int
        Requests that wait for an instance now.
    successes : int
        Requests that were answered.
    inferences : int
        Their rows; 1 for each at least.
    executions : int
        Batches that ran, failed ones too.
    executed_rows, padding_rows : int
        Rows that batches were asked for, and rows computed on top of them to reach a compiled size.
    failures : tuple of int
        By reason, see ``FAILURE_REASONS``.
    failed_ns : int
        How long the failed requests took.
    last_inference_ms : int
        When a batch ran last, milliseconds since 1970; 0 for never.
    sums_ns : tuple of int
        What the answered requests took, by ``PHASES``; each request of a batch adds the whole batch's.
    histograms : tuple of Histogram
        The same durations, one by one.
    window : tuple of Histogram or None
        Those of the last while (48 to 60 s); None where nobody asked for them.
    batch_sizes : tuple of BatchSizeSums
        By rising rows.
    response_bounds_ms : tuple of float
        Upper bounds of Triton's histogram of response times.
    response_counts : tuple of int
        Requests within each bound and above the one before; one more for those above all.
    """

    pending: int = 0
    successes: int = 0
    inferences: int = 0
    executions: int = 0
    executed_rows: int = 0
    padding_rows: int = 0
    failures: tuple[int, ...] = (0, 0, 0, 0)
    failed_ns: int = 0
    last_inference_ms: int = 0
    sums_ns: tuple[int, ...] = (0, 0, 0, 0, 0)
    histograms: Phases = _EMPTY
    window: Phases | None = None
    batch_sizes: tuple[BatchSizeSums, ...] = ()
    response_bounds_ms: tuple[float, ...] = ()
    response_counts: tuple[int, ...] = ()

    @property
    def failed(self) -> int:
        """Requests that failed, for whatever reason."""
        return sum(self.failures)

    def __add__(self, other: CountersSnapshot) -> CountersSnapshot:
        """Sum up two models' counters, or those of one model loaded twice."""
        window = self.window if other.window is None else other.window
        if self.window is not None and other.window is not None:
            window = _phases(self.window, other.window, Histogram.__add__)
        return self._combined(
            other,
            1,
            pending=self.pending + other.pending,
            last_inference_ms=max(self.last_inference_ms, other.last_inference_ms),
            window=window,
        )

    def __sub__(self, earlier: CountersSnapshot) -> CountersSnapshot:
        """Tell what happened since an earlier moment; ``pending`` and the time of the last batch stay as they are."""
        return self._combined(
            earlier, -1, pending=self.pending, last_inference_ms=self.last_inference_ms, window=self.window
        )

    def _combined(
        self,
        other: CountersSnapshot,
        sign: int,
        *,
        pending: int,
        last_inference_ms: int,
        window: Phases | None,
    ) -> CountersSnapshot:
        bounds, counts = _response_times(self, other, sign)
        return CountersSnapshot(
            pending=pending,
            successes=self.successes + sign * other.successes,
            inferences=self.inferences + sign * other.inferences,
            executions=self.executions + sign * other.executions,
            executed_rows=self.executed_rows + sign * other.executed_rows,
            padding_rows=self.padding_rows + sign * other.padding_rows,
            failures=_each(self.failures, other.failures, sign),
            failed_ns=self.failed_ns + sign * other.failed_ns,
            last_inference_ms=last_inference_ms,
            sums_ns=_each(self.sums_ns, other.sums_ns, sign),
            histograms=_phases(
                self.histograms, other.histograms, Histogram.__add__ if sign > 0 else Histogram.__sub__
            ),
            window=window,
            batch_sizes=_batch_sizes(self.batch_sizes, other.batch_sizes, sign),
            response_bounds_ms=bounds,
            response_counts=counts,
        )


def _each(left: tuple[int, ...], right: tuple[int, ...], sign: int) -> tuple[int, ...]:
    return tuple(a + sign * b for a, b in zip(left, right, strict=True))


def _phases(left: Phases, right: Phases, combine: Callable[[Histogram, Histogram], Histogram]) -> Phases:
    first, second, third, fourth, fifth = map(combine, left, right)
    return first, second, third, fourth, fifth


def _batch_sizes(
    left: tuple[BatchSizeSums, ...], right: tuple[BatchSizeSums, ...], sign: int
) -> tuple[BatchSizeSums, ...]:
    sums = {batch.rows: batch for batch in left}
    for batch in right:
        have = sums.get(batch.rows, BatchSizeSums(batch.rows, 0, 0, 0, 0))
        sums[batch.rows] = BatchSizeSums(batch.rows, *_each(have[1:], batch[1:], sign))
    return tuple(sums[rows] for rows in sorted(sums) if sums[rows].executions)


def _response_times(
    left: CountersSnapshot, right: CountersSnapshot, sign: int
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    if not right.response_counts:
        return left.response_bounds_ms, left.response_counts
    if not left.response_counts:
        return right.response_bounds_ms, tuple(sign * count for count in right.response_counts)
    if left.response_bounds_ms == right.response_bounds_ms:
        return left.response_bounds_ms, _each(left.response_counts, right.response_counts, sign)
    # Reloaded with other bounds: what was counted by the old ones goes to the first new bound that is as high.
    counts = list(left.response_counts)
    for bound, count in zip((*right.response_bounds_ms, float("inf")), right.response_counts, strict=True):
        at = sum(known < bound for known in left.response_bounds_ms)
        counts[at] += sign * count
    return left.response_bounds_ms, tuple(counts)
