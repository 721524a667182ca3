"""Callers, their latencies and their schedules, by a clock of the tests' own."""

from __future__ import annotations

import statistics
import threading
from itertools import islice

import pytest
from fake_load import FakeClock, FakeEngine

from ascend_infer.perf.arrivals import arrivals
from ascend_infer.perf.caller import Caller
from ascend_infer.perf.load import Load
from ascend_infer.perf.pacing import AtOnce, OnSchedule

MS = 1_000_000


def fail(error: BaseException) -> None:
    raise error


def latencies_ms(caller: Caller) -> list[float]:
    return [value / MS for value in caller.take().latencies]


def test_a_caller_that_sends_at_once_sees_the_time_of_each_answer(clock: FakeClock) -> None:
    stop = threading.Event()
    engine = FakeEngine(clock, [10, 30, 20], stop)
    caller = Caller(engine.infer, [{"a": 1}, {"a": 2}], 1, AtOnce(clock, stop), clock, fail)
    caller.run()
    tally = caller.take()
    assert [value / MS for value in tally.latencies] == [10, 30, 20]
    assert tally.busy_ns == 60 * MS
    assert [feed["a"] for feed in engine.fed] == [2, 1, 2]
    assert caller.take().latencies.tolist() == []


def test_at_a_rate_a_stall_is_in_the_latency_of_every_request_that_came_due_meanwhile(
    clock: FakeClock,
) -> None:
    stop = threading.Event()
    engine = FakeEngine(clock, [1, 100] + [1] * 20, stop)
    pacing = OnSchedule(clock, stop, arrivals(100, "constant"), clock.now())
    caller = Caller(engine.infer, [{}], 0, pacing, clock, fail)
    caller.run()
    tally = caller.take()
    # Due every 10 ms. The second, due at 10, ends at 110; the third, due at 20, is sent then: 91 ms, and so on,
    # until the backlog is gone. Counted from when they were sent, all but one would be 1 ms.
    seen = [value / MS for value in tally.latencies]
    assert seen[:4] == [1, 100, 91, 82]
    assert seen[4:12] == [73, 64, 55, 46, 37, 28, 19, 10]
    assert seen[12:] == [1] * 10
    assert tally.delayed == 10


def test_a_request_that_no_caller_was_ready_for_in_time_is_not_late_for_want_of_callers(
    clock: FakeClock,
) -> None:
    stop = threading.Event()
    engine = FakeEngine(clock, [1, 1, 1], stop)
    pacing = OnSchedule(clock, stop, arrivals(100, "constant"), clock.now())
    caller = Caller(engine.infer, [{}], 0, pacing, clock, fail)
    clock.time += 5 * MS  # the thread takes its time to start
    caller.run()
    tally = caller.take()
    assert [value / MS for value in tally.latencies] == [6, 1, 1]
    assert tally.delayed == 0


def test_constant_arrivals_do_not_drift() -> None:
    found = list(islice(arrivals(3, "constant"), 3_000_001))
    assert found[:4] == [0, 333_333_333, 666_666_667, 1_000_000_000]
    assert found[3_000_000] == 1_000_000 * 1_000_000_000


def test_poisson_arrivals_have_exponential_gaps() -> None:
    found = list(islice(arrivals(1000, "poisson", 7), 20_000))
    gaps = [later - earlier for earlier, later in zip([0, *found], found, strict=False)]
    assert min(gaps) >= 0
    # Mean and standard deviation of an exponential distribution are the same.
    assert statistics.mean(gaps) == pytest.approx(1e6, rel=0.03)
    assert statistics.stdev(gaps) == pytest.approx(1e6, rel=0.03)
    assert found == list(islice(arrivals(1000, "poisson", 7), 20_000))
    assert found != list(islice(arrivals(1000, "poisson", 8), 20_000))


def test_a_fixed_number_of_requests_is_shared_by_the_callers(clock: FakeClock) -> None:
    sent = []
    load = Load(sent.append, [{}], 3, lambda stop: AtOnce(clock, stop, 7), clock)
    with load:
        for thread in load._threads:
            thread.join()
        assert load.finished
        assert len(load.take().latencies) == 7
    assert len(sent) == 7


def test_a_request_that_fails_ends_the_load_with_its_error(clock: FakeClock) -> None:
    def infer(feed: object) -> None:
        raise ValueError("no such input")

    with Load(infer, [{}], 2, lambda stop: AtOnce(clock, stop), clock) as load:
        for thread in load._threads:
            thread.join()
        assert load.finished
        with pytest.raises(ValueError, match="no such input"):
            load.wait(0)


def test_nothing_is_lost_between_two_takes(clock: FakeClock) -> None:
    count = 20_000
    load = Load(lambda feed: None, [{}], 4, lambda stop: AtOnce(clock, stop, count), clock)
    taken = 0
    with load:
        while not load.finished:
            taken += len(load.take().latencies)
        taken += len(load.take().latencies)
    assert taken == count
