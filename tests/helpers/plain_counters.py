"""ModelCounters again in plain Python, to hold the compiled ones against."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Iterable
from typing import NoReturn, SupportsIndex

from ascend_infer.errors import CopyError, InvalidOptionError
from ascend_infer.metrics.histogram import Histogram, bucket_of
from ascend_infer.metrics.snapshot import BatchSizeSums, CountersSnapshot, Phases

__all__ = ["PlainCounters"]

_PARTS = 5


class PlainCounters:
    """As :class:`ascend_infer._native.ModelCounters`, in Python, with a lock of its own.

    Thread safety: every method may be called from any thread; ``pending`` is the caller's to guard.
    """

    def __init__(self, *, response_bounds_ms: Iterable[float] = (100, 500, 2000, 5000)) -> None:
        self.pending = 0
        self._bounds_ns = _checked_bounds(response_bounds_ms)
        self._response_counts = [0] * (len(self._bounds_ns) + 1)
        self._lock = threading.Lock()
        self._successes = self._inferences = self._executions = 0
        self._executed_rows = self._padding_rows = 0
        self._failures = [0, 0, 0, 0]
        self._failed_ns = self._last_inference_ns = 0
        self._sums_ns = [0, 0, 0, 0, 0]
        self._histograms: list[dict[int, int]] = [{} for _ in range(5)]
        self._batches: dict[int, list[int]] = {}
        self._window: list[Phases] = []
        self._step_ns = self._next_ns = 0

    def record_batch(
        self, rows: SupportsIndex, padded_rows: SupportsIndex, input_ns: int, infer_ns: int, output_ns: int
    ) -> None:
        """Count an execution, also one that failed; see the native twin."""
        with self._lock:
            self._executions += 1
            self._executed_rows += int(rows)
            self._padding_rows += int(padded_rows)
            self._last_inference_ns = time.time_ns()
            self._rotate(time.monotonic_ns())
            sums = self._batches.setdefault(int(rows), [0, 0, 0, 0])
            for position, value in enumerate((1, input_ns, infer_ns, output_ns)):
                sums[position] += value

    def record_request(
        self,
        rows: SupportsIndex,
        request_ns: int,
        queue_ns: int,
        input_ns: int,
        infer_ns: int,
        output_ns: int,
    ) -> None:
        """Count a request that was answered; see the native twin."""
        with self._lock:
            self._successes += 1
            self._inferences += max(1, int(rows))
            for phase, value in enumerate((request_ns, queue_ns, input_ns, infer_ns, output_ns)):
                self._sums_ns[phase] += value
                counts, bucket = self._histograms[phase], bucket_of(value)
                counts[bucket] = counts.get(bucket, 0) + 1
            self._response_counts[bisect_left(self._bounds_ns, request_ns)] += 1

    def record_failure(self, reason: int, request_ns: int) -> None:
        """Count a request that failed: 0 REJECTED, 1 CANCELED, 2 BACKEND, 3 and all else OTHER."""
        with self._lock:
            self._failures[reason if 0 <= reason < 4 else 3] += 1
            self._failed_ns += request_ns

    def keep_window(self, seconds: float) -> None:
        """From now on keep histograms of the last ``seconds`` too, in steps of a fifth; once."""
        if not 0 < seconds < 1e9:
            raise InvalidOptionError(
                f"seconds: got {seconds!r}, expected 0 < seconds < 1e9", option="seconds", got=seconds
            )
        with self._lock:
            if not self._window:
                self._window = [self._phases()] * _PARTS
                self._step_ns = max(1, int(seconds * 1e9) // _PARTS)
                self._next_ns = time.monotonic_ns() + self._step_ns

    def rotate_window(self, now_ns: int | None = None) -> None:
        """Let what is older than the window leave it, by ``time.monotonic_ns()``."""
        with self._lock:
            self._rotate(time.monotonic_ns() if now_ns is None else now_ns)

    def snapshot(self) -> CountersSnapshot:
        """Read everything at one moment."""
        with self._lock:
            self._rotate(time.monotonic_ns())
            histograms = self._phases()
            return CountersSnapshot(
                pending=self.pending,
                successes=self._successes,
                inferences=self._inferences,
                executions=self._executions,
                executed_rows=self._executed_rows,
                padding_rows=self._padding_rows,
                failures=tuple(self._failures),
                failed_ns=self._failed_ns,
                last_inference_ms=self._last_inference_ns // 1_000_000,
                sums_ns=tuple(self._sums_ns),
                histograms=histograms,
                window=_less(histograms, self._window[0]) if self._window else None,
                batch_sizes=tuple(BatchSizeSums(rows, *sums) for rows, sums in sorted(self._batches.items())),
                response_bounds_ms=tuple(bound / 1e6 for bound in self._bounds_ns),
                response_counts=tuple(self._response_counts),
            )

    def _phases(self) -> Phases:
        first, second, third, fourth, fifth = (
            Histogram(tuple(sorted(counts.items()))) for counts in self._histograms
        )
        return first, second, third, fourth, fifth

    def _rotate(self, now_ns: int) -> None:
        if not self._window or now_ns < self._next_ns:
            return
        now = self._phases()
        for _ in range(_PARTS):
            if now_ns < self._next_ns:
                return
            self._window = [*self._window[1:], now]
            self._next_ns += self._step_ns
        if now_ns >= self._next_ns:  # nothing happened for longer than the window
            self._next_ns = now_ns + self._step_ns

    def __reduce__(self) -> NoReturn:
        raise CopyError("a model's counters cannot be copied or pickled; a snapshot() can")


def _less(now: Phases, before: Phases) -> Phases:
    first, second, third, fourth, fifth = (a - b for a, b in zip(now, before, strict=True))
    return first, second, third, fourth, fifth


def _checked_bounds(bounds_ms: Iterable[float]) -> list[int]:
    bounds: list[int] = []
    for bound in bounds_ms:
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 < bound < 1e12:
            raise InvalidOptionError(
                f"response_bounds_ms: got {bound!r}, expected milliseconds, 0 < ms < 1e12",
                option="response_bounds_ms",
                got=bound,
            )
        bounds.append(round(bound * 1e6))
        if len(bounds) > 1 and bounds[-2] >= bounds[-1]:
            raise InvalidOptionError(
                f"response_bounds_ms: got {bound!r} behind a bound as large; expected rising bounds",
                option="response_bounds_ms",
                got=bound,
            )
    return bounds
