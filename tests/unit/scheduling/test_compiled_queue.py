"""The compiled queue against the plain one: anything may happen to both, on virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from compiled_queue import CompiledQueue
from hypothesis import given, settings
from hypothesis import strategies as st
from queue_machine import QueueMachine
from reference_queue import BatchQueue, QueuedRequest

from ascend_infer.scheduling.policy import BatchRules, Decision, LevelRules, QueueSummary, decide

RULES = BatchRules(8, (4,), 100)
AT_ONCE = BatchRules(8)


class CompiledMachine(QueueMachine):
    # A clock of nanoseconds never shows two arrivals the same: which of them is delayed first is left open.
    apart = 1

    def make_queue(self, rules: BatchRules, levels: Sequence[LevelRules]) -> BatchQueue:
        return CompiledQueue(rules, levels)


TestCompiledQueue = CompiledMachine.TestCase
TestCompiledQueue.settings = settings(max_examples=100, stateful_step_count=50)


def waiting(*queued: QueuedRequest, levels: int = 1, until: int = 110) -> CompiledQueue:
    """Return a queue whose leader waits for company for what is queued."""
    queue = CompiledQueue(RULES, [LevelRules()] * levels)
    for request in queued:
        assert queue.push(request)
    queue.expire(10)
    assert queue.take(0) == []
    assert queue.lane.asleep
    assert queue.queue.leader_until == until
    return queue


@pytest.mark.parametrize(
    ("fields", "woken"),
    [
        ({}, False),
        ({"rows": 3}, True),  # 4 rows are there
        ({"key": "other"}, True),  # the batch closes
        ({"asked": 50}, True),  # expires at 61
        ({"asked": 500}, False),
        ({"level": 2}, False),
        ({"level": 2, "key": "other"}, True),  # the batch closes, although its own level is empty
        ({"level": 0}, True),  # is served first
    ],
)
def test_a_waiting_leader_is_woken_for_what_changes_the_decision_and_no_more(
    fields: dict[str, Any], woken: bool
) -> None:
    queue = waiting(QueuedRequest("old", 10, level=1), levels=3)
    assert queue.push(QueuedRequest("new", 11, **{"level": 1, **fields}))
    assert queue.lane.asleep is not woken


@given(
    asked=st.lists(st.integers(0, 1000), min_size=12, max_size=40), random=st.randoms(use_true_random=False)
)
def test_the_soonest_deadline_is_known_whatever_leaves(asked: list[int], random: Random) -> None:
    queue = CompiledQueue(RULES, [LevelRules()])
    left = [QueuedRequest(f"r{place}", 10, asked=after) for place, after in enumerate(asked)]
    for request in left:
        queue.push(request)
    while left:
        assert queue.summary(10).next_deadline == 10 + min(request.asked or 0 for request in left)
        assert queue.cancel(left.pop(random.randrange(len(left))))
    assert queue.summary(10).next_deadline == 0


def test_a_deadline_that_takes_the_place_of_a_later_one_is_not_hidden_by_it() -> None:
    queue = CompiledQueue(RULES, [LevelRules()])
    # As a heap: 3 is last, and comes under 100 in the place of 101.
    queued = {after: QueuedRequest(f"r{after}", 10, asked=after) for after in (0, 100, 1, 101, 102, 2, 3)}
    for request in queued.values():
        queue.push(request)
    assert queue.cancel(queued[101])
    queue.push(QueuedRequest("r103", 10, asked=103))
    for after in (0, 1, 2):
        assert queue.cancel(queued[after])
        assert queue.summary(10).next_deadline == 10 + after + 1


@pytest.mark.parametrize("how", ["cancelled", "expired"])
def test_a_waiting_leader_is_woken_when_something_leaves(how: str) -> None:
    old, late = QueuedRequest("old", 10), QueuedRequest("late", 10, asked=50)
    queue = waiting(old, late, until=60)
    if how == "cancelled":
        assert queue.cancel(old)
    else:
        assert queue.expire(60) == [late]
    assert not queue.lane.asleep


def during(
    happens: Callable[[CompiledQueue], object], rules: BatchRules = AT_ONCE
) -> tuple[CompiledQueue, list[tuple[int, int]]]:
    """Return a queue to which something happens while the policy decides for the first time, and what that is told."""
    told: list[tuple[int, int]] = []

    def watched(summary: QueueSummary, now: int, rules: BatchRules) -> Decision:
        decision = decide(summary, now, rules)
        told.append((summary.requests, summary.rows))
        if len(told) == 1:
            happens(queue)
        return decision

    queue = CompiledQueue(rules, [LevelRules()] * 2, watched)
    return queue, told


def test_what_was_decided_is_dropped_when_something_left_meanwhile() -> None:
    requests = [QueuedRequest(name, 10, rows=2, level=1) for name in "abc"]
    queue, told = during(lambda queue: queue.cancel(requests[0]))
    for request in requests:
        queue.push(request)
    queue.expire(20)
    assert queue.take(2) == requests[1:]
    assert told == [(3, 6), (2, 4)]


def test_what_was_decided_is_dropped_when_everything_left_meanwhile() -> None:
    request = QueuedRequest("a", 10)
    queue, told = during(lambda queue: queue.cancel(request))
    queue.push(request)
    queue.expire(20)
    assert queue.take(0) == []
    assert told == [(1, 1)]
    assert queue.queue.leader_until == 0


def test_what_is_served_first_comes_into_a_batch_that_was_being_decided() -> None:
    first, second = QueuedRequest("first", 20, level=0), QueuedRequest("second", 10, level=1)
    queue, told = during(lambda queue: queue.push(first))
    queue.push(second)
    queue.expire(20)
    assert queue.take(2) == [first, second]
    assert told == [(1, 1), (2, 2)]


def test_what_joins_behind_does_not_have_the_policy_decide_again() -> None:
    first, second = QueuedRequest("first", 10), QueuedRequest("second", 20)
    queue, told = during(lambda queue: queue.push(second))
    queue.push(first)
    queue.expire(20)
    assert queue.take(1) == [first]
    assert told == [(1, 1)]
    assert queue.take(1) == [second]


@pytest.mark.parametrize(("rules", "there"), [(BatchRules(8, (8,), 100), 7), (BatchRules(8, (4,), 100), 3)])
def test_what_fills_a_batch_while_the_policy_says_wait_has_it_decide_again(
    rules: BatchRules, there: int
) -> None:
    requests = [QueuedRequest(str(place), 10 + place) for place in range(there + 1)]
    queue, told = during(lambda queue: queue.push(requests[-1]), rules)
    for request in requests[:-1]:
        queue.push(request)
    queue.expire(20)
    assert queue.take(there + 1) == requests
    assert told == [(there, there), (there + 1, there + 1)]


def test_a_batch_goes_back_where_it_was_when_its_lane_left_service_meanwhile() -> None:
    late = QueuedRequest("late", 10, level=0)
    others = [QueuedRequest("other", 40, level=0), QueuedRequest("worse", 10, level=1)]
    levels = [LevelRules(timeout=20, delays=True), LevelRules()]
    lost = []

    def lose(summary: QueueSummary, now: int, rules: BatchRules) -> Decision:
        if not lost:
            lost.append(queue.lane)
            queue.queue.retire(queue.lane)
        return decide(summary, now, rules)

    queue = CompiledQueue(BatchRules(8), levels, lose, lanes=2)
    queue.push(late)
    queue.expire(35)
    for request in others:
        queue.push(request)
    before = queue.summary(50)
    assert before.requests == 3
    assert queue.take(0) == []
    assert queue.summary(50) == before
    assert lost == queue.lanes[:1]
    queue.lane = queue.lanes[1]
    fresh = QueuedRequest("fresh", 51, level=0)
    queue.push(fresh)
    assert queue.take(4) == [others[0], fresh, late, others[1]]
    assert queue.queue.count == queue.queue.rows == 0
