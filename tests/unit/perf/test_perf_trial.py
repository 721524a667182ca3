"""When three windows agree, what is said of latencies, what a window holds: without a model."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from fake_load import FakeClock

from ascend_infer.errors import InvalidOptionError
from ascend_infer.perf import Latencies, Levels, Measurement, ServerTimes, Settings, sweep
from ascend_infer.perf.arrivals import least_span
from ascend_infer.perf.console import warnings_of
from ascend_infer.perf.stability import is_stable
from ascend_infer.perf.trial import Trial
from ascend_infer.perf.window import Tally, Window

MS = 1_000_000


@pytest.mark.parametrize(
    ("throughputs", "latencies", "stable"),
    [
        ([100, 105], [1, 1], False),
        ([100, 105, 110], [10, 10, 11], True),
        ([100, 105, 110.2], [10, 10, 11], False),
        ([100, 105, 110], [10, 10, 11.2], False),
        ([10, 1000, 100, 105, 110], [9, 9, 10, 10, 11], True),
        ([110, 105, 100], [11, 10, 10], True),
        ([0, 0, 0], [0, 0, 0], False),
        ([100, 0, 100], [10, 0, 10], False),
    ],
)
def test_three_windows_in_a_row_within_the_percentage(
    throughputs: list[float], latencies: list[float], stable: bool
) -> None:
    assert is_stable(throughputs, latencies, 10) is stable


def test_percentiles_are_latencies_that_occurred() -> None:
    found = Latencies.of(array("q", range(1, 101)), 75)
    assert found.percentiles == {50: 51, 75: 75, 90: 90, 95: 95, 99: 99}
    assert list(found.percentiles) == [50, 75, 90, 95, 99]
    assert (found.count, found.mean) == (100, 50.5)
    assert found.deviation == pytest.approx(29.0115, abs=1e-4)
    assert (found.stabilizing(None), found.stabilizing(75)) == (50.5, 75)


def test_percentiles_of_few_and_of_none() -> None:
    assert Latencies.of([7]).percentiles == {50: 7, 90: 7, 95: 7, 99: 7}
    assert Latencies.of([7]).deviation == 0
    assert Latencies.of([9, 1]).percentiles == {50: 9, 90: 9, 95: 9, 99: 9}
    assert Latencies.of([]) == Latencies(0, 0.0, 0.0, {50: 0, 90: 0, 95: 0, 99: 0})


class Script:
    """A load that answers so many requests of so many milliseconds in each window."""

    def __init__(self, windows: Sequence[tuple[int, float]], clock: FakeClock) -> None:
        self.windows = list(windows)
        self.clock = clock
        self.times = ServerTimes()
        self.waits: list[int] = []
        self.begun = clock.time
        # Some were answered before anybody counted.
        self.answered = Tally(array("q", [MS] * 7))

    @property
    def finished(self) -> bool:
        return not self.windows

    def wait(self, until: int) -> None:
        self.waits.append(until - self.clock.time)
        self.clock.time = until
        requests, ms = self.windows.pop(0)
        spent = round(ms * MS)
        self.times += ServerTimes(requests, requests, requests, requests * spent, 0, 0, requests * spent, 0)
        self.answered.add(Tally(array("q", [spent] * requests), busy_ns=requests * spent))

    def take(self) -> Tally:
        taken, self.answered = self.answered, Tally.empty()
        return taken


def trial(windows: Sequence[tuple[int, float]], clock: FakeClock, **settings: Any) -> tuple[Trial, Script]:
    load = Script(windows, clock)
    return Trial(load, lambda: load.times, clock, Settings(interval_ms=1000, **settings)), load


def test_windows_are_measured_until_three_agree_and_only_those_count(clock: FakeClock) -> None:
    made, load = trial([(5, 50), (92, 10), (100, 10), (98, 10), (500, 1)], clock)
    windows = made.run()
    assert (made.stable, made.count, load.windows) == (True, 4, [(500, 1)])
    found = Measurement.of("concurrency", 1, windows, made.count, made.stable, Settings())
    assert found.requests == 92 + 100 + 98
    assert found.throughput == pytest.approx(290 / 3)
    assert found.server.requests == found.requests
    assert found.server.mean("infer") == 10 * MS
    assert found.duration_s == 3
    assert load.waits == [1000 * MS] * 4


def test_what_is_not_stable_is_given_up_after_the_trials(clock: FakeClock) -> None:
    made, load = trial([(100, 10), (200, 5)] * 4, clock, max_trials=4)
    windows = made.run()
    assert (made.stable, made.count, len(windows)) == (False, 4, 3)
    assert len(load.windows) == 4


def test_a_latency_limit_that_is_passed_ends_a_level_early(clock: FakeClock) -> None:
    made, _ = trial([(10, 100), (20, 50), (40, 25), (80, 12)], clock, latency_limit_ms=50)
    windows = made.run()
    assert (made.stable, made.count) == (False, 3)
    settings = Settings(latency_limit_ms=30)
    assert Measurement.of("concurrency", 1, windows, 3, False, settings).over_limit
    assert not Measurement.of("concurrency", 1, windows[2:], 1, True, settings).over_limit


def test_windows_without_an_answer_are_over_any_limit_and_not_stable(clock: FakeClock) -> None:
    made, load = trial([(0, 0)] * 5, clock, latency_limit_ms=5000)
    windows = made.run()
    assert (made.stable, made.count, len(load.windows)) == (False, 3, 2)
    found = Measurement.of(
        "concurrency", 1, windows, made.count, made.stable, Settings(latency_limit_ms=5000)
    )
    assert found.over_limit
    [said] = warnings_of(found, Settings())
    assert "no request was answered within 3 s" in said


def test_warm_up_requests_are_not_counted(clock: FakeClock) -> None:
    made, _ = trial([(2, 500), (2, 500), (100, 10), (100, 10), (100, 10)], clock, warmup_requests=3)
    windows = made.run()
    assert made.stable
    assert Window.joined(windows).server.requests == 300


def test_count_windows_last_a_second_and_until_enough_is_there(clock: FakeClock) -> None:
    parts = [(30, 10), (10, 10), (20, 10)] + [(60, 10)] * 2
    made, load = trial(parts, clock, mode="count_windows", window_requests=50)
    windows = made.run()
    assert [len(window.tally.latencies) for window in windows[:2]] == [60, 60]
    assert load.waits[:4] == [1000 * MS, 10 * MS, 10 * MS, 1000 * MS]
    assert windows[0].duration_ns == 1020 * MS


@pytest.mark.parametrize(
    ("text", "kind", "levels"),
    [
        ("4", "concurrency", [4]),
        ("1:4", "concurrency", [1, 2, 3, 4]),
        ("2:9:3", "concurrency", [2, 5, 8]),
        ("0.1:0.5:0.1", "rate", [0.1, 0.2, 0.30000000000000004, 0.4, 0.5]),
        ("100:300:100", "rate", [100, 200, 300]),
    ],
)
def test_ranges_include_their_end(text: str, kind: Any, levels: list[float]) -> None:
    assert list(Levels.parse(text, kind)) == pytest.approx(levels)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("", "concurrency", "expected START"),
        ("1:2:3:4", "concurrency", "expected START"),
        ("1.5", "concurrency", "whole numbers"),
        ("4:2", "concurrency", "an END of at least START"),
        ("0:2", "concurrency", "a START above 0"),
        ("1:5:0", "rate", "a STEP above 0"),
        ("nan", "rate", "expected START"),
        ("1:20000", "concurrency", "at most 10000 callers"),
    ],
)
def test_ranges_that_cannot_be(text: str, kind: Any, expected: str) -> None:
    with pytest.raises(InvalidOptionError, match=expected):
        Levels.parse(text, kind)


class Instant:
    """A model that answers at once."""

    def infer(self, inputs: Mapping[str, Any], /) -> None:
        pass

    def times(self) -> ServerTimes:
        return ServerTimes()


def test_a_range_without_an_end_needs_a_limit() -> None:
    with pytest.raises(InvalidOptionError, match="needs a latency limit"):
        sweep(Instant(), [{}], Levels.parse("1:0", "concurrency"))


def test_a_sweep_measures_each_level_with_exactly_the_requests_asked_for() -> None:
    found = list(
        sweep(
            Instant(), [{}], Levels.parse("1:3", "concurrency"), Settings(request_count=50, warmup_requests=2)
        )
    )
    assert [(one.level, one.requests, one.stable) for one in found] == [
        (1, 50, True),
        (2, 50, True),
        (3, 50, True),
    ]


def test_no_more_requests_a_second_than_the_rate_whatever_their_number() -> None:
    for count in (1, 3, 20):
        [found] = sweep(Instant(), [{}], Levels.parse("1000", "rate"), Settings(request_count=count))
        assert found.requests == count
        assert found.duration_s >= count / 1000
        assert found.request_rate <= 1000
    assert least_span(10, "constant", 10) == 1_000_000_000
    # Drawn gaps come before their requests: ten of them are ten gaps already.
    assert least_span(10, "poisson", 10) == 0


def test_settings_that_cannot_be() -> None:
    with pytest.raises(InvalidOptionError, match="percentile: got 100"):
        Settings(percentile=100)
    with pytest.raises(InvalidOptionError, match="interval_ms: got 0"):
        Settings(interval_ms=0)
    with pytest.raises(InvalidOptionError, match="stability_percentage"):
        Settings(stability_percentage=float("nan"))
