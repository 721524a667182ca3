"""Buckets of durations: bounds, percentiles, sums and differences."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.metrics.histogram import BUCKETS, Histogram, bucket_bounds, bucket_of

DURATIONS = st.integers(0, 2**41)


def histogram_of(values: list[int]) -> Histogram:
    counts: dict[int, int] = {}
    for value in values:
        counts[bucket_of(value)] = counts.get(bucket_of(value), 0) + 1
    return Histogram(tuple(sorted(counts.items())))


def test_buckets_follow_each_other_without_a_gap() -> None:
    end = 0
    for bucket in range(BUCKETS):
        low, beyond = bucket_bounds(bucket)
        assert low == end
        assert bucket_of(low) == bucket_of(beyond - 1) == bucket
        end = beyond
    assert end == 2**42
    assert bucket_of(2**50) == BUCKETS - 1
    assert bucket_of(-5) == 0


@given(DURATIONS)
def test_a_buckets_middle_is_near_all_that_is_in_it(value: int) -> None:
    low, beyond = bucket_bounds(bucket_of(value))
    assert low <= value < beyond
    assert abs((low + beyond - 1) / 2 - value) <= max(value, 1) / 64


@given(st.lists(DURATIONS, min_size=1), st.floats(0, 1))
def test_a_percentile_is_right_to_its_bucket(values: list[int], share: float) -> None:
    exact = sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]
    found = histogram_of(values).quantile(share)
    assert found is not None
    assert abs(found - exact) <= max(exact, 1) / 64


def test_nothing_counted_has_no_percentile() -> None:
    assert Histogram().quantiles([0.5, 0.99]) == [None, None]
    assert Histogram().total == 0


@given(st.lists(DURATIONS), st.integers(0, 41))
def test_below_a_power_of_two_the_count_is_exact(values: list[int], power: int) -> None:
    assert histogram_of(values).below(2**power) == sum(value < 2**power for value in values)


@given(st.lists(DURATIONS), st.lists(DURATIONS))
def test_sums_and_differences_are_those_of_the_durations(some: list[int], others: list[int]) -> None:
    both = histogram_of(some) + histogram_of(others)
    assert both == histogram_of(some + others)
    assert both - histogram_of(some) == histogram_of(others)
