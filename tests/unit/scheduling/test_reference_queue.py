"""The queue that a fast one is compared with is itself compared with plain lists."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import settings
from queue_machine import QueueMachine
from reference_queue import BatchQueue, QueuedRequest, ReferenceQueue

from ascend_infer.scheduling.policy import BatchRules, Decision, LevelRules


class ReferenceMachine(QueueMachine):
    def make_queue(self, rules: BatchRules, levels: Sequence[LevelRules]) -> BatchQueue:
        return ReferenceQueue(rules, levels)


TestReferenceQueue = ReferenceMachine.TestCase
TestReferenceQueue.settings = settings(max_examples=60, stateful_step_count=40)


def queue(levels: int = 1) -> ReferenceQueue:
    return ReferenceQueue(BatchRules(8, (4,), 100), [LevelRules()] * levels)


WAIT = Decision(0, 0, wait_until=110, wake_rows=4, gear=None)


def pushed(into: ReferenceQueue, **fields: object) -> QueuedRequest:
    request = QueuedRequest("new", **{"arrived": 11, **fields})  # type: ignore[arg-type]
    assert into.push(request)
    return request


def test_what_wakes_a_waiting_leader() -> None:
    for fields, woken in (
        ({}, False),
        ({"rows": 3}, True),  # 4 rows are there
        ({"key": "other"}, True),  # the batch closes
        ({"asked": 50}, True),  # expires at 61
        ({"asked": 500}, False),
    ):
        it = queue()
        it.push(QueuedRequest("old", arrived=10))
        assert it.wakes(pushed(it, **fields), WAIT) == woken, fields


def test_one_that_goes_first_wakes_the_leader() -> None:
    it = queue(levels=2)
    it.push(QueuedRequest("old", arrived=10, level=1))
    assert it.wakes(pushed(it, level=0), WAIT)
    assert not it.wakes(pushed(it, level=1), WAIT)


def test_a_preferred_size_above_all_and_the_one_before_it() -> None:
    it = queue()
    for rows in (3, 3, 1):
        it.push(QueuedRequest("r", arrived=10, rows=rows))
    summary = it.summary(10)
    assert (summary.requests, summary.rows, summary.closed) == (3, 7, False)
    assert (summary.best_requests, summary.best_rows, summary.overshoot) == (1, 3, True)
    it = queue()
    for rows in (1, 3, 3):
        it.push(QueuedRequest("r", arrived=10, rows=rows))
    summary = it.summary(10)
    assert (summary.best_requests, summary.best_rows, summary.overshoot) == (2, 4, False)
