"""The counters, compiled and plain: what each call counts, and that both count the same."""

from __future__ import annotations

import copy
import pickle
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_counters import PlainCounters

from ascend_infer._native import ModelCounters
from ascend_infer.errors import CopyError, InvalidOptionError
from ascend_infer.metrics.histogram import bucket_of
from ascend_infer.metrics.snapshot import BatchSizeSums, CountersSnapshot

KINDS = pytest.mark.parametrize("kind", [ModelCounters, PlainCounters])
MS = 1_000_000


@KINDS
def test_a_new_model_has_counted_nothing(kind: Any) -> None:
    found = kind().snapshot()
    assert found == CountersSnapshot(
        response_bounds_ms=(100, 500, 2000, 5000), response_counts=(0, 0, 0, 0, 0)
    )


@KINDS
def test_a_batch_of_two_requests(kind: Any) -> None:
    counters = kind()
    counters.pending += 3
    counters.pending -= 2
    before = time.time_ns() // MS
    counters.record_batch(5, 3, 10, 2_000, 30)
    counters.record_request(4, 3_000, 900, 10, 2_000, 30)
    counters.record_request(1, 2_500, 400, 10, 2_000, 30)
    found = counters.snapshot()
    assert (found.pending, found.successes, found.inferences, found.executions) == (1, 2, 5, 1)
    assert (found.executed_rows, found.padding_rows) == (5, 3)
    assert found.sums_ns == (5_500, 1_300, 20, 4_000, 60)  # each request adds the whole batch's
    assert found.batch_sizes == (BatchSizeSums(5, 1, 10, 2_000, 30),)
    assert found.histograms[1].counts == ((bucket_of(400), 1), (bucket_of(900), 1))
    assert found.response_counts == (2, 0, 0, 0, 0)
    assert before - 20 <= found.last_inference_ms <= time.time_ns() // MS


@KINDS
def test_a_request_without_a_batch_counts_as_one_inference(kind: Any) -> None:
    counters = kind()
    counters.record_request(0, 1, 1, 1, 1, 1)
    assert counters.snapshot().inferences == 1


@KINDS
def test_failures_have_reasons_and_are_no_inferences(kind: Any) -> None:
    counters = kind()
    for reason in (0, 1, 1, 2, 3, 9, -1):
        counters.record_failure(reason, 100)
    found = counters.snapshot()
    assert found.failures == (1, 2, 1, 3)
    assert (found.failed, found.failed_ns, found.inferences, found.successes) == (7, 700, 0, 0)


@KINDS
def test_response_times_are_counted_by_exact_bounds(kind: Any) -> None:
    counters = kind(response_bounds_ms=(0.5, 100))
    for ns in (1, 500_000, 500_001, 100 * MS, 100 * MS + 1):
        counters.record_request(1, ns, 0, 0, 0, 0)
    assert counters.snapshot().response_counts == (2, 2, 1)
    assert counters.snapshot().response_bounds_ms == (0.5, 100)


@KINDS
@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0,), (-1,), ("a",), (True,), (float("nan"),), (1e12,)])
def test_bounds_that_do_not_do_are_refused(kind: Any, bounds: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidOptionError, match=r"response_bounds_ms: got .*expected"):
        kind(response_bounds_ms=bounds)


@KINDS
def test_a_window_forgets_in_steps(kind: Any) -> None:
    counters = kind()
    counters.record_request(1, 10, 0, 0, 0, 0)
    assert counters.snapshot().window is None
    counters.keep_window(50_000)
    start = time.monotonic_ns()
    counters.keep_window(1)  # is open already

    def recent() -> list[int]:
        window = counters.snapshot().window
        assert window is not None
        return [bucket for bucket, _ in window[0].counts]

    assert recent() == []  # what was before the window is not in it
    counters.record_request(1, 20, 0, 0, 0, 0)
    step = 10_000 * 1_000_000_000
    for passed in range(1, 5):
        counters.rotate_window(start + passed * step + step // 2)
        assert recent() == [20]
    counters.record_request(1, 30, 0, 0, 0, 0)
    counters.rotate_window(start + 5 * step + step // 2)
    assert recent() == [30]
    counters.rotate_window(start + 100 * step)
    assert recent() == []
    assert counters.snapshot().histograms[0].total == 3
    counters.record_request(1, 40, 0, 0, 0, 0)
    counters.rotate_window(start + 100 * step + step // 2)
    assert recent() == [40]


@KINDS
@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 1e10])
def test_a_window_has_a_length(kind: Any, seconds: float) -> None:
    with pytest.raises(InvalidOptionError, match="seconds"):
        kind().keep_window(seconds)


@KINDS
def test_counters_are_not_copied_but_snapshots_are(kind: Any) -> None:
    counters = kind()
    counters.record_batch(2, 0, 1, 1, 1)
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(CopyError):
            act(counters)
    assert pickle.loads(pickle.dumps(counters.snapshot())) == counters.snapshot()


TIMES = st.integers(0, 2**43)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("record_batch"), st.integers(0, 70), st.integers(0, 9), TIMES, TIMES, TIMES),
        st.tuples(st.just("record_request"), st.integers(0, 70), TIMES, TIMES, TIMES, TIMES, TIMES),
        st.tuples(st.just("record_failure"), st.integers(0, 3), TIMES),
    )
)


@given(EVENTS, EVENTS)
def test_both_count_the_same_and_moments_can_be_subtracted(first: list[Any], then: list[Any]) -> None:
    native, plain, only_then = ModelCounters(), PlainCounters(), PlainCounters()
    for name, *arguments in first:
        getattr(native, name)(*arguments)
        getattr(plain, name)(*arguments)
    middle = native.snapshot()
    for name, *arguments in then:
        for counters in (native, plain, only_then):
            getattr(counters, name)(*arguments)
    assert still(native.snapshot()) == still(plain.snapshot())
    assert still(native.snapshot() - middle) == still(only_then.snapshot())
    assert still(middle + only_then.snapshot()) == still(native.snapshot())


def still(snapshot: CountersSnapshot) -> CountersSnapshot:
    """Without the one number that the clock makes."""
    from dataclasses import replace

    return replace(snapshot, last_inference_ms=0)


def test_response_times_of_other_bounds_are_not_lost_in_a_sum() -> None:
    old, new = PlainCounters(response_bounds_ms=(10, 70)), PlainCounters(response_bounds_ms=(50,))
    for counters in (old, new):
        for ms in (5, 60, 100):
            counters.record_request(1, ms * MS, 0, 0, 0, 0)
    both = new.snapshot() + old.snapshot()
    assert both.response_bounds_ms == (50,)
    assert both.response_counts == (2, 4)
