"""Drives a micro-batcher's queue with anything that may happen to it and compares it with plain lists.

A subclass makes the queue; where that is not the reference queue, the reference queue goes along. Both have to
describe their heads alike, and what wakes the reference's leader has to wake the other's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from reference_queue import BatchQueue, QueuedRequest, ReferenceQueue

from ascend_infer.scheduling.policy import (
    BatchRules,
    Decision,
    GearCost,
    LevelRules,
    decide,
    expires_at,
)

LEVELS = st.lists(
    st.builds(LevelRules, st.sampled_from([0, 0, 7, 30]), st.booleans(), st.sampled_from([0, 0, 3])),
    min_size=1,
    max_size=3,
)
RULES = st.sampled_from(
    [
        BatchRules(8, (8,), 0),
        BatchRules(8, (4,), 20),
        BatchRules(8, (2, 5), 20, (GearCost(1, 10), GearCost(4, 20), GearCost(8, 35))),
        BatchRules(1, (1,), 20),
    ]
)


class QueueMachine(RuleBasedStateMachine):
    #: Nanoseconds between two arrivals, at least.
    apart = 0

    @abstractmethod
    def make_queue(self, rules: BatchRules, levels: Sequence[LevelRules]) -> BatchQueue:
        """Return the queue to look at, empty."""

    @initialize(rules=RULES, levels=LEVELS)
    def start(self, rules: BatchRules, levels: list[LevelRules]) -> None:
        self.rules = rules
        self.levels = levels
        self.queue = self.make_queue(rules, levels)
        self.reference = ReferenceQueue(rules, levels)
        self.now = 1_000
        self.live: list[QueuedRequest] = []  # by arrival
        self.delayed: set[str] = set()
        self.pushed = 0
        self.waiting: Decision | None = None  # the leader's, while nothing has left the queue since

    def order(self) -> list[QueuedRequest]:
        return sorted(self.live, key=lambda r: (r.level, r.name in self.delayed))

    def leave(self, requests: Sequence[QueuedRequest]) -> None:
        self.live = [r for r in self.live if r not in requests]
        if requests:
            self.waiting = None

    @rule(
        rows=st.sampled_from([1, 1, 1, 1, 2, 2, 3, 5, 8]),
        key=st.sampled_from("aab"),
        level=st.integers(0, 2),
        asked=st.sampled_from([None, None, 0, 5, 25]),
        wait=st.integers(0, 3),
        looks=st.booleans(),
    )
    def push(self, rows: int, key: str, level: int, asked: int | None, wait: int, looks: bool) -> None:
        if looks and self.live:
            self.send()  # the leader mostly has looked at what is there when something new comes
        self.now += max(wait, self.apart)
        level = min(level, len(self.levels) - 1)
        request = QueuedRequest(
            f"r{self.pushed}", self.now, min(rows, self.rules.max_rows), key, level, asked
        )
        self.pushed += 1
        most = self.levels[level].max_requests
        room = not most or sum(r.level == level for r in self.live) < most
        assert self.queue.push(request) == room
        if self.queue is not self.reference:
            self.reference.push(request)
        if room:
            self.live.append(request)
            if self.waiting is not None and self.reference.wakes(request, self.waiting):
                assert self.queue.wakes(request, self.waiting)
                self.waiting = None

    @rule(wait=st.integers(0, 12))
    def expire(self, wait: int) -> None:
        self.now += wait
        moments = {r.name: expires_at(self.levels[r.level], r.arrived, r.asked) for r in self.live}
        over = [r for r in self.order() if 0 < moments[r.name].refused_at <= self.now]
        assert sorted(r.name for r in self.queue.expire(self.now)) == sorted(r.name for r in over)
        if self.queue is not self.reference:
            self.reference.expire(self.now)
        self.leave(over)
        late = {r.name for r in self.live if 0 < moments[r.name].delayed_at <= self.now}
        if late - self.delayed:
            self.waiting = None
        self.delayed |= late

    @precondition(lambda self: self.live)
    @rule()
    def send(self) -> None:
        self.expire(0)
        decision = decide(self.queue.summary(self.now), self.now, self.rules)
        first = self.order()[: decision.requests]
        assert sum(r.rows for r in first) == decision.rows <= self.rules.max_rows
        assert len({r.key for r in first}) <= 1
        assert self.queue.take(decision.requests) == first
        if self.queue is not self.reference:
            self.reference.take(decision.requests)
        self.leave(first)
        self.waiting = None if decision.requests else decision

    @precondition(lambda self: self.waiting is not None and self.waiting.wait_until)
    @rule()
    def wait(self) -> None:
        assert self.waiting is not None
        self.now = max(self.now, self.waiting.wait_until)
        self.send()

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.live))
        assert self.queue.cancel(request)
        assert not self.queue.cancel(request)
        if self.queue is not self.reference:
            self.reference.cancel(request)
        self.leave([request])

    @invariant()
    def the_head_is_described_as_it_is(self) -> None:
        summary = self.queue.summary(self.now)
        order = self.order()
        assert bool(summary.requests) == bool(order)
        assert summary.closed == (summary.requests < len(order))
        batch = order[: summary.requests]
        assert summary.rows == sum(r.rows for r in batch)
        arrived = [r.arrived for r in batch] or [0]
        assert (summary.oldest, summary.newest) == (min(arrived), max(arrived))
        if self.queue is not self.reference:
            assert summary == self.reference.summary(self.now)
