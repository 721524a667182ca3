"""Measuring a session at one level of load after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.perf.arrivals import arrivals, least_span
from ascend_infer.perf.clock import Clock, SystemClock
from ascend_infer.perf.latencies import Latencies
from ascend_infer.perf.levels import Levels
from ascend_infer.perf.load import Load
from ascend_infer.perf.measurement import Measurement
from ascend_infer.perf.pacing import AtOnce, OnSchedule, Pacing
from ascend_infer.perf.settings import Settings
from ascend_infer.perf.target import SessionTarget, Target
from ascend_infer.perf.trial import Trial

if TYPE_CHECKING:
    from ascend_infer.session import Session

__all__ = ["sweep"]

#: Told of each window as it ends: level, number, throughput, latencies.
Passed = Callable[[float, int, float, Latencies], None]


def sweep(
    session: Session | Target,
    feeds: Sequence[Mapping[str, Any]],
    levels: Levels,
    settings: Settings | None = None,
    *,
    passed: Passed | None = None,
    clock: Clock | None = None,
) -> Iterator[Measurement]:
    """Measure level after level; each is measured when the next one is asked for.

    Parameters
    ----------
    session : Session
        Called from as many threads as there are callers; stays open.
    feeds : sequence of mapping
        Requests, arrays by input name, sent round and round. They are read only.
    levels : Levels
        Without an end, ``settings.latency_limit_ms`` has to be given.
    settings : Settings, optional
    passed : callable, optional
        Told of each window as it ends: level, number, rows a second, ``Latencies``.
    clock : Clock, optional
        For tests.

    Yields
    ------
    Measurement
        The last one is the first whose latency is not below the limit, where there is a limit.

    Raises
    ------
    InvalidOptionError
    Exception
        What a request raised: a load with failing requests measures nothing.

    Notes
    -----
    At a rate, latency counts from when a request was due and not from when a caller was free to send it.
    """
    settings = settings or Settings()
    if levels.endless and not settings.latency_limit_ms:
        raise InvalidOptionError(
            "a range without an end needs a latency limit to end it: -l MILLISECONDS",
            option="latency-threshold",
            got=0,
        )
    target = session if isinstance(session, Target) else SessionTarget(session)
    return _measurements(target, feeds, levels, settings, passed, clock or SystemClock())


def _measurements(
    target: Target,
    feeds: Sequence[Mapping[str, Any]],
    levels: Levels,
    settings: Settings,
    passed: Passed | None,
    clock: Clock,
) -> Iterator[Measurement]:
    for level in levels:
        callers = int(level) if levels.kind == "concurrency" else settings.callers
        if settings.request_count and settings.warmup_requests:
            for index in range(settings.warmup_requests):
                target.infer(feeds[index % len(feeds)])
        told = None if passed is None else _at(level, passed)
        before = target.times()
        with Load(target.infer, feeds, callers, _pacing(level, levels, settings, clock), clock) as load:
            trial = Trial(
                load, target.times, clock, settings, told, before, _least_span(level, levels, settings)
            )
            windows = trial.run()
        found = Measurement.of(levels.kind, level, windows, trial.count, trial.stable, settings)
        yield found
        if found.over_limit:
            return


def _pacing(
    level: float, levels: Levels, settings: Settings, clock: Clock
) -> Callable[[threading.Event], Pacing]:
    limit = settings.request_count or None

    def make(stop: threading.Event) -> Pacing:
        if levels.kind == "concurrency":
            return AtOnce(clock, stop, limit)
        offsets = arrivals(level, settings.distribution, settings.seed)
        return OnSchedule(clock, stop, offsets, clock.now(), limit)

    return make


def _least_span(level: float, levels: Levels, settings: Settings) -> int:
    at_rate = levels.kind == "rate" and settings.request_count
    return least_span(level, settings.distribution, settings.request_count) if at_rate else 0


def _at(level: float, passed: Passed) -> Callable[[int, float, Latencies], None]:
    return lambda number, throughput, latencies: passed(level, number, throughput, latencies)
