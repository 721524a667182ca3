"""A session's numbers for people; see ``Session.stats()``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ascend_infer.metrics.period import Latency, Period
from ascend_infer.metrics.snapshot import CountersSnapshot

__all__ = ["SessionStats", "StatsTaker"]

#: Queueing this much longer than computing is worth a word.
_LONG_QUEUE = 3.0

#: Below this many milliseconds of queueing nobody is helped by fewer.
_SHORT_QUEUE_MS = 1.0

#: Padding of this share is worth a word.
_MUCH_PADDING = 0.25

#: Periods that are remembered; older ones are then joined in pairs.
_MOST_PERIODS = 32


@dataclass(frozen=True, slots=True)
class SessionStats:
    """What a session did since it was loaded and since it was asked last.

    Attributes
    ----------
    model : str
    version : int, str or None
    device : str
    pending : int
        Requests that wait for an instance now.
    since_load, since_last : Period
        ``since_last`` begins at the call before; with the first call it is ``since_load``.
    unavailable : mapping of str to str
        Names of the instances that take no requests now, each with the reason.
    """

    model: str
    version: int | str | None
    device: str
    pending: int
    since_load: Period
    since_last: Period
    unavailable: Mapping[str, str] = field(default_factory=dict)

    @property
    def advice(self) -> tuple[str, ...]:
        """What stands out, in sentences: instances out of service now; queueing, padding and failures since last."""
        out = [f"{name} takes no requests: {reason}" for name, reason in self.unavailable.items()]
        return (*out, *_advice(self.since_last))

    def __repr__(self) -> str:
        version = "" if self.version is None else f" version {self.version}"
        head = f"{self.model}{version} on {self.device}, {self.pending} pending"
        rows = [("", "since load", "since last"), *_rows(self.since_load, self.since_last)]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = [
            f"  {name:<{widths[0]}}  {load:>{widths[1]}}  {last:>{widths[2]}}" for name, load, last in rows
        ]
        return "\n".join([head, *lines, *(f"  ! {sentence}" for sentence in self.advice)])

    def _repr_html_(self) -> str:
        from html import escape

        from ascend_infer.html import table

        version = "" if self.version is None else f", version {self.version}"
        head = (
            f"<p><b>{escape(self.model)}</b>{escape(version)} on <b>{escape(self.device)}</b>, "
            f"{self.pending} pending</p>"
        )
        advice = "".join(f"<p>⚠ {escape(sentence)}</p>" for sentence in self.advice)
        rows = _rows(self.since_load, self.since_last)
        return head + table(("", "since load", "since last"), rows) + advice


class StatsTaker:
    """Makes :class:`SessionStats`, and remembers when it did so last.

    Parameters
    ----------
    model, version, device
        Of the session.
    snapshot : callable
        The session's counters now; of a model with several counters, their sum.
    clock : callable
        Seconds that rise.
    unavailable : callable
        The names of instances that take no requests now, with the reasons.

    Notes
    -----
    Thread safety: may be asked from any thread. ``since_last`` counts from whoever asked last. Periods between two
    calls are remembered, up to 32: then neighbours become one.
    """

    def __init__(
        self,
        model: str,
        version: int | str | None,
        device: str,
        snapshot: Callable[[], CountersSnapshot],
        clock: Callable[[], float] = time.perf_counter,
        unavailable: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._of = (model, version, device)
        self._unavailable = unavailable
        self._snapshot = snapshot
        self._clock = clock
        self._lock = threading.Lock()
        self._loaded = self._last = clock()
        self._then = CountersSnapshot()
        self._periods: list[Period] = []

    @property
    def title(self) -> str:
        """The session's model, version and device in words."""
        model, version, device = self._of
        return f"{model}{'' if version is None else f' version {version}'} on {device}"

    def take(self) -> SessionStats:
        """Read the counters now."""
        with self._lock:
            now, counted = self._clock(), self._snapshot()
            since_load = Period(now - self._loaded, counted)
            since_last = Period(now - self._last, counted - self._then)
            self._last, self._then = now, counted
            if len(self._periods) >= _MOST_PERIODS:
                pairs = zip(self._periods[::2], self._periods[1::2], strict=True)
                self._periods = [earlier + later for earlier, later in pairs]
            # The window of the last while says nothing about a period that is over.
            self._periods.append(Period(since_last.seconds, replace(since_last.counters, window=None)))
        return SessionStats(*self._of, counted.pending, since_load, since_last, self._unavailable())

    def history(self) -> tuple[Period, ...]:
        """Return what happened between the calls of :meth:`take`, one after another, up to this moment.

        The sum is all since the load. It does not count as a call. Where nothing happened since the last one, the rest
        is left out.
        """
        with self._lock:
            rest = Period(self._clock() - self._last, self._snapshot() - self._then)
            happened = rest.counters.successes or rest.counters.failed or not self._periods
            return (*self._periods, rest) if happened else tuple(self._periods)


def _advice(period: Period) -> list[str]:
    found = []
    queue, compute = period.queue.mean_ms, period.compute_ms
    if queue is not None and compute and queue >= _SHORT_QUEUE_MS and queue > _LONG_QUEUE * compute:
        found.append(
            f"requests queue {queue:.3g} ms and compute {compute:.3g} ms: more instances, larger batches or fewer "
            "callers would shorten the wait"
        )
    waste = period.padding_waste
    if waste is not None and waste >= _MUCH_PADDING:
        found.append(
            f"{waste:.0%} of the computed rows are padding: compile sizes nearer to the batches that come, or let "
            "batches fill"
        )
    if period.failures:
        reasons = ", ".join(f"{count} {reason}" for reason, count in period.failures.items())
        found.append(f"{sum(period.failures.values())} requests failed: {reasons}")
    return found


def _rows(*periods: Period) -> list[tuple[str, str, str]]:
    """Return a table's rows: name, and one cell for each of the two periods."""
    cells: list[tuple[str, Callable[[Period], str]]] = [
        ("seconds", lambda p: f"{p.seconds:.1f}"),
        ("requests", lambda p: f"{p.requests:,}"),
        ("failed", lambda p: f"{p.counters.failed:,}"),
        ("requests/s", lambda p: _number(p.requests_per_second)),
        ("rows/s", lambda p: _number(p.rows_per_second)),
        ("batches/s", lambda p: _number(p.batches_per_second)),
        ("mean batch", lambda p: _number(p.mean_batch)),
        ("padding", lambda p: _percent(p.padding_waste)),
        ("request ms p50 / p90 / p99", lambda p: _latency(p.request)),
        ("queue ms p50 / p90 / p99", lambda p: _latency(p.queue)),
        ("model ms p50 / p90 / p99", lambda p: _latency(p.infer)),
        ("share of time queued", lambda p: _percent(p.queue_share)),
    ]
    load, last = periods
    return [(name, show(load), show(last)) for name, show in cells]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _latency(latency: Latency) -> str:
    return " / ".join(_number(value) for value in (latency.p50_ms, latency.p90_ms, latency.p99_ms))
