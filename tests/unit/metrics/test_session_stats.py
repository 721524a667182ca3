"""Numbers for people: rates over two periods, percentiles, shares, and what is said of them."""

from __future__ import annotations

import re

import pytest
from metric_pages import MS

from ascend_infer._native import ModelCounters
from ascend_infer.metrics.session_stats import SessionStats, StatsTaker


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def counters() -> ModelCounters:
    return ModelCounters()


@pytest.fixture
def taker(clock: Clock, counters: ModelCounters) -> StatsTaker:
    return StatsTaker("net <1>", 2, "npu:0", counters.snapshot, clock)


def run(counters: ModelCounters, rows: int, queue_ms: int = 1, infer_ms: int = 2, padding: int = 0) -> None:
    counters.record_batch(rows, padding, 0, infer_ms * MS, 0)
    for _ in range(rows):
        counters.record_request(1, (queue_ms + infer_ms) * MS, queue_ms * MS, 0, infer_ms * MS, 0)


def test_nothing_has_happened(taker: StatsTaker) -> None:
    stats = taker.take()
    period = stats.since_load
    assert (period.requests, period.requests_per_second, period.failures) == (0, 0, {})
    assert period.mean_batch is period.padding_waste is period.queue_share is period.compute_ms is None
    assert period.request.p99_ms is None
    assert stats.advice == ()
    assert "-" in repr(stats)


def test_rates_of_both_periods(taker: StatsTaker, clock: Clock, counters: ModelCounters) -> None:
    run(counters, 4)
    clock.now += 2
    first = taker.take()
    assert first.since_load.seconds == first.since_last.seconds == 2
    assert first.since_load.requests_per_second == first.since_last.requests_per_second == 2
    for _ in range(3):
        run(counters, 8)
    clock.now += 8
    second = taker.take()
    assert second.since_load.seconds == 10
    assert second.since_load.requests_per_second == 2.8
    assert second.since_load.batches_per_second == 0.4
    assert second.since_load.mean_batch == 7
    assert second.since_last.seconds == 8
    assert second.since_last.requests == 24
    assert second.since_last.requests_per_second == second.since_last.rows_per_second == 3
    assert second.since_last.mean_batch == 8
    third = taker.take()
    assert third.since_last.requests == 0
    assert third.since_last.requests_per_second == 0  # no time has passed
    assert third.since_load.requests == 28


def test_percentiles_and_shares(taker: StatsTaker, clock: Clock, counters: ModelCounters) -> None:
    for queue_ms in [1] * 50 + [10] * 40 + [100] * 10:
        run(counters, 1, queue_ms=queue_ms, infer_ms=5, padding=1)
    clock.now += 1
    period = taker.take().since_load
    assert period.queue.p50_ms == pytest.approx(1, rel=1 / 64)
    assert period.queue.p90_ms == pytest.approx(10, rel=1 / 64)
    assert period.queue.p99_ms == pytest.approx(100, rel=1 / 64)
    assert period.queue.mean_ms == pytest.approx(14.5)
    assert period.request.p99_ms == pytest.approx(105, rel=1 / 64)
    assert period.infer.p50_ms == pytest.approx(5, rel=1 / 64)
    assert period.queue_share == pytest.approx(14.5 / 19.5)
    assert period.compute_ms == pytest.approx(5)
    assert period.padding_waste == 0.5


def test_percentiles_of_the_last_period_forget_what_was_before(
    taker: StatsTaker, clock: Clock, counters: ModelCounters
) -> None:
    run(counters, 10, queue_ms=500)
    taker.take()
    run(counters, 10, queue_ms=1)
    assert taker.take().since_last.queue.p99_ms == pytest.approx(1, rel=1 / 64)


def advice(taker: StatsTaker) -> str:
    return "\n".join(taker.take().advice)


def test_long_queues_are_told(taker: StatsTaker, counters: ModelCounters) -> None:
    run(counters, 1, queue_ms=6, infer_ms=2)
    assert advice(taker) == ""
    run(counters, 1, queue_ms=20, infer_ms=2)
    assert "requests queue 20 ms and compute 2 ms: more instances" in advice(taker)


def test_padding_and_failures_are_told(taker: StatsTaker, counters: ModelCounters) -> None:
    run(counters, 5, padding=3)
    counters.record_failure(0, 1)
    counters.record_failure(2, 1)
    told = advice(taker)
    assert "38% of the computed rows are padding" in told
    assert "2 requests failed: 1 REJECTED, 1 BACKEND" in told
    assert advice(taker) == ""


def test_instances_out_of_service_are_told(clock: Clock, counters: ModelCounters) -> None:
    out = {"net_0": "device npu:0 is lost"}
    taker = StatsTaker("net", 2, "npu:0", counters.snapshot, clock, lambda: dict(out))
    stats = taker.take()
    assert stats.unavailable == {"net_0": "device npu:0 is lost"}
    assert stats.advice == ("net_0 takes no requests: device npu:0 is lost",)
    assert "! net_0 takes no requests: device npu:0 is lost" in repr(stats)
    out.clear()
    assert taker.take().advice == ()


def test_what_people_see(taker: StatsTaker, clock: Clock, counters: ModelCounters) -> None:
    run(counters, 5, queue_ms=50, padding=3)
    counters.pending = 7
    clock.now += 10
    stats = taker.take()
    shown = repr(stats)
    assert shown.startswith("net <1> version 2 on npu:0, 7 pending\n")
    for line in (
        "requests/s  +0.5 +0.5",
        "mean batch  +5 +5",
        "padding  +37.5% +37.5%",
        "share of time queued  +96.2% +96.2%",
        r"queue ms p50 / p90 / p99 +\d\d.\d / \d\d.\d / \d\d.\d",
        "! requests queue 50 ms",
    ):
        assert re.search(line, shown), (line, shown)
    page = stats._repr_html_()
    assert "net &lt;1&gt;" in page
    assert "<1>" not in page
    assert "requests queue 50 ms" in page
    assert page.count("<td") == 36


def test_a_bare_file_has_no_version() -> None:
    stats = StatsTaker("net", None, "cpu", ModelCounters().snapshot).take()
    assert isinstance(stats, SessionStats)
    assert repr(stats).startswith("net on cpu, 0 pending\n")
