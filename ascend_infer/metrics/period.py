"""What a model did over some time: rates, percentiles and shares, worked out of two snapshots' difference."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_infer.metrics.snapshot import FAILURE_REASONS, CountersSnapshot

__all__ = ["Latency", "Period"]


@dataclass(frozen=True, slots=True)
class Latency:
    """How long requests took, in milliseconds; percentiles are right to 1.6 %, None without a request.

    Attributes
    ----------
    mean_ms, p50_ms, p90_ms, p99_ms : float or None
    """

    mean_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time and what happened in it.

    Attributes
    ----------
    seconds : float
        How long it was.
    counters : CountersSnapshot
        What was counted in it.
    """

    seconds: float
    counters: CountersSnapshot

    def __add__(self, later: Period) -> Period:
        """Join it with the one that follows it."""
        return Period(self.seconds + later.seconds, self.counters + later.counters)

    @property
    def requests(self) -> int:
        """Requests that were answered."""
        return self.counters.successes

    @property
    def failures(self) -> dict[str, int]:
        """Requests that failed, by Triton's reasons; those without any are left out."""
        return {reason: n for reason, n in zip(FAILURE_REASONS, self.counters.failures, strict=True) if n}

    @property
    def requests_per_second(self) -> float:
        """Answered requests a second."""
        return _share(self.counters.successes, self.seconds) or 0.0

    @property
    def rows_per_second(self) -> float:
        """Rows of answered requests a second."""
        return _share(self.counters.inferences, self.seconds) or 0.0

    @property
    def batches_per_second(self) -> float:
        """Executions a second."""
        return _share(self.counters.executions, self.seconds) or 0.0

    @property
    def mean_batch(self) -> float | None:
        """Rows of an execution, padding not counted; None without one."""
        return _share(self.counters.executed_rows, self.counters.executions)

    @property
    def padding_waste(self) -> float | None:
        """Share of the computed rows that were padding, 0 to 1; None where nothing was computed."""
        return _share(self.counters.padding_rows, self.counters.executed_rows + self.counters.padding_rows)

    @property
    def request(self) -> Latency:
        """From the call to the answer."""
        return self._latency(0)

    @property
    def queue(self) -> Latency:
        """Until an instance took the request."""
        return self._latency(1)

    @property
    def infer(self) -> Latency:
        """In the model; each request of a batch has the whole batch's time."""
        return self._latency(3)

    @property
    def queue_share(self) -> float | None:
        """Share of the requests' time that they queued, 0 to 1; None without a request."""
        return _share(self.counters.sums_ns[1], self.counters.sums_ns[0])

    @property
    def compute_ms(self) -> float | None:
        """Mean time of a request's batch: inputs, model and outputs together."""
        total = _share(sum(self.counters.sums_ns[2:]), self.counters.successes)
        return None if total is None else total / 1e6

    @property
    def steps_ms(self) -> tuple[float, float, float, float] | None:
        """Mean time of a request by step: queue, inputs, model, outputs; None without a request."""
        if not self.counters.successes:
            return None
        queue, before, model, after = (
            total / self.counters.successes / 1e6 for total in self.counters.sums_ns[1:]
        )
        return queue, before, model, after

    def _latency(self, phase: int) -> Latency:
        histogram = self.counters.histograms[phase]
        mean = _share(self.counters.sums_ns[phase], self.counters.successes)
        values = [mean, *histogram.quantiles((0.5, 0.9, 0.99))]
        return Latency(*(None if value is None else value / 1e6 for value in values))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
