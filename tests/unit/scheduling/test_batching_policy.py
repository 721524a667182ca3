"""The batching policy's promises, over queues, rules and arrivals of any kind."""

from __future__ import annotations

from itertools import accumulate

import pytest
from batch_replay import Replay, SentBatch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_queue import QueuedRequest, ReferenceQueue

from ascend_infer.scheduling.policy import (
    BatchRules,
    Decision,
    GearCost,
    LevelRules,
    QueueSummary,
    decide,
    expires_at,
)

START = 1_000  # 0 as a moment means never


@st.composite
def batch_rules(draw: st.DrawFn, *, gears: bool = False, delay: int | None = None) -> BatchRules:
    largest = draw(st.integers(1, 9))
    preferred = draw(st.sets(st.integers(1, largest), max_size=3))
    sizes: list[GearCost] = []
    if gears:
        rows = draw(st.sets(st.integers(1, largest), max_size=4)) | {largest}
        sizes = [GearCost(size, draw(st.integers(0, 30))) for size in sorted(rows)]
    return BatchRules(
        largest,
        tuple(sorted(preferred)) or (largest,),
        draw(st.integers(0, 40)) if delay is None else delay,
        tuple(sizes),
    )


def level_rules() -> st.SearchStrategy[LevelRules]:
    return st.builds(LevelRules, st.sampled_from([0, 0, 7, 30]), st.booleans(), st.sampled_from([0, 0, 2]))


@st.composite
def arrivals(draw: st.DrawFn, largest: int, levels: int = 1, *, timeouts: bool = True) -> list[QueuedRequest]:
    moments = accumulate(draw(st.lists(st.integers(0, 12), min_size=1, max_size=24)), initial=START)
    return [
        QueuedRequest(
            name=f"r{number}",
            arrived=moment,
            rows=draw(st.integers(1, largest)),
            key=draw(st.sampled_from("aaaab")),
            level=draw(st.integers(0, levels - 1)),
            asked=draw(st.sampled_from([None, None, None, 0, 5, 25])) if timeouts else None,
        )
        for number, moment in enumerate(moments)
    ]


@st.composite
def replays(
    draw: st.DrawFn, *, timeouts: bool = True, gears: bool = True
) -> tuple[list[QueuedRequest], list[LevelRules], Replay, Replay]:
    """Return arrivals and the same replay twice: looking at every arrival, and when there is a reason to."""
    rules = draw(batch_rules(gears=gears))
    levels = draw(st.lists(level_rules(), min_size=1, max_size=3)) if timeouts else [LevelRules()]
    requests = draw(arrivals(rules.max_rows, len(levels), timeouts=timeouts))
    duration = draw(st.sampled_from([1, 5, 50]))
    instances = draw(st.integers(1, 2))

    def busy(batch: SentBatch) -> int:
        return duration + batch.rows

    both = [Replay(ReferenceQueue(rules, levels), rules, busy, instances, look) for look in (True, False)]
    for one in both:
        one.run([QueuedRequest(r.name, r.arrived, r.rows, r.key, r.level, r.asked) for r in requests])
    return requests, levels, both[0], both[1]


@given(replays())
@settings(max_examples=150)
def test_looking_only_when_there_is_a_reason_misses_nothing(
    case: tuple[list[QueuedRequest], list[LevelRules], Replay, Replay],
) -> None:
    _, _, always, seldom = case
    assert [(b.at, b.instance, b.names, b.gear) for b in seldom.batches] == [
        (b.at, b.instance, b.names, b.gear) for b in always.batches
    ]
    assert [(at, r.name) for at, r in seldom.refused] == [(at, r.name) for at, r in always.refused]
    assert len(seldom.waits) <= len(always.waits)


@given(replays())
@settings(max_examples=150)
def test_what_every_batch_and_every_request_may_rely_on(
    case: tuple[list[QueuedRequest], list[LevelRules], Replay, Replay],
) -> None:
    requests, levels, _, seen = case
    rules = seen.rules
    sent = {request.name: batch.at for batch in seen.batches for request in batch.requests}
    refused = {r.name: at for at, r in seen.refused}
    away = {r.name for r in seen.turned_away}
    # Each request has one end.
    assert len(sent) + len(refused) + len(away) == len(requests) == len({*sent, *refused, *away})
    for batch in seen.batches:
        assert 1 <= batch.rows <= rules.max_rows
        assert len({request.key for request in batch.requests}) == 1
    # Deadlines are exact: nothing is sent from its deadline on, and what is refused is refused at it.
    for request in requests:
        _, deadline = expires_at(levels[request.level], request.arrived, request.asked)
        if request.name in refused:
            assert refused[request.name] == max(deadline, request.arrived)
        elif request.name in sent and deadline:
            assert sent[request.name] < deadline
    # First in, first out within a level, where nothing was put back.
    for number, level in enumerate(levels):
        if not level.delays:
            mine = [r for r in requests if r.level == number and r.name in sent]
            order = [r.name for batch in seen.batches for r in batch.requests if r.level == number]
            assert order == [r.name for r in mine]


@given(replays(timeouts=False))
@settings(max_examples=150)
def test_nothing_waits_for_company_longer_than_the_delay(
    case: tuple[list[QueuedRequest], list[LevelRules], Replay, Replay],
) -> None:
    _, _, always, seldom = case
    for seen in (always, seldom):
        ends = {batch.at + seen.busy(batch) for batch in seen.batches}
        for batch in seen.batches:
            due = min(request.arrived for request in batch.requests) + seen.rules.delay
            # What goes later than that was waiting for an instance, and took the first.
            assert batch.at <= due or batch.at in ends


@given(batch_rules(gears=True), st.integers(1, 9), st.integers(0, 10**6))
def test_a_lone_request_leaves_when_its_delay_is_over(rules: BatchRules, rows: int, arrived: int) -> None:
    rows = min(rows, rules.max_rows)
    arrived += 1
    seen = Replay(ReferenceQueue(rules, [LevelRules()]), rules, lambda _: 1)
    seen.run([QueuedRequest("lone", arrived, rows)])
    at_once = rows in rules.preferred or rows > rules.preferred[-1]
    assert [(b.at, b.rows) for b in seen.batches] == [(arrived if at_once else arrived + rules.delay, rows)]


@st.composite
def heads(
    draw: st.DrawFn, *, gears: bool, delay: int | None = None
) -> tuple[BatchRules, ReferenceQueue, int]:
    rules = draw(batch_rules(gears=gears, delay=delay))
    levels = draw(st.integers(1, 2))
    queue = ReferenceQueue(rules, [LevelRules()] * levels)
    requests = draw(arrivals(rules.max_rows, levels, timeouts=False))
    for request in requests:
        queue.push(request)
    return rules, queue, requests[-1].arrived + draw(st.integers(0, 60))


def triton(rules: BatchRules, queue: ReferenceQueue, now: int) -> int:
    """Return how many requests Triton's loop over the queue sends; written from its description, not ours."""
    pending: list[QueuedRequest] = []
    marked: list[QueuedRequest] | None = None
    send_now = False
    for request in queue.order():
        rows = sum(r.rows for r in pending)
        if pending:
            if rows + request.rows > rules.preferred[-1] and marked is None:
                marked = list(pending)
            if rows + request.rows > rules.max_rows or request.key != pending[0].key:
                send_now = True
                break
        pending.append(request)
        if rows + request.rows in rules.preferred:
            marked = list(pending)
    oldest = min(r.arrived for r in pending)
    exceeded = rules.delay != 0 and now - oldest >= rules.delay
    if marked is not None and not exceeded:
        return len(marked)
    if send_now or sum(r.rows for r in pending) >= rules.preferred[-1] or exceeded or not rules.delay:
        return len(pending)
    return 0


@given(heads(gears=False))
@settings(max_examples=400)
def test_it_sends_what_tritons_loop_sends(head: tuple[BatchRules, ReferenceQueue, int]) -> None:
    rules, queue, now = head
    decision = decide(queue.summary(now), now, rules)
    assert decision.requests == triton(rules, queue, now)
    assert decision.rows == sum(request.rows for request in queue.order()[: decision.requests])
    assert decision.gear is None


def price(rules: BatchRules, rows: int) -> int:
    return min(gear.cost for gear in rules.gears if gear.rows >= rows)


def drained(rules: BatchRules, requests: list[QueuedRequest], now: int) -> list[int]:
    """Return the rows of the batches in which these requests run when nothing else comes."""
    queue = ReferenceQueue(rules, [LevelRules()])
    for request in requests:
        queue.push(QueuedRequest(request.name, request.arrived, request.rows, request.key))
    found = []
    while queue.order():
        decision = decide(queue.summary(now), now, rules)
        if not decision.requests:
            now = decision.wait_until
            continue
        queue.take(decision.requests)
        found.append(decision.rows)
    return found


@given(heads(gears=True))
@settings(max_examples=400)
def test_cuts_never_cost_more_in_total(head: tuple[BatchRules, ReferenceQueue, int]) -> None:
    rules, queue, now = head
    whole = decide(queue.summary(now), now, BatchRules(rules.max_rows, rules.preferred, rules.delay))
    cut = decide(queue.summary(now), now, rules)
    assert cut.requests <= whole.requests
    assert bool(cut.requests) == bool(whole.requests)
    if cut.requests == whole.requests:
        assert cut[:4] == whole[:4]
        return
    assert whole.rows not in rules.preferred
    # The delay would not hold the rest back, and what it says of costs was measured.
    batch = queue.order()[: whole.requests]
    assert all(now >= request.arrived + rules.delay for request in batch)
    measured = BatchRules(
        rules.max_rows, rules.preferred, rules.delay, tuple(g for g in rules.gears if g.cost)
    )
    rest = drained(rules, batch[cut.requests :], now)
    total = price(measured, cut.rows) + sum(price(measured, rows) for rows in rest)
    assert total < price(measured, whole.rows)
    assert cut.gear is not None
    assert price(measured, cut.rows) == price(measured, cut.gear)


@given(heads(gears=True, delay=0))
@settings(max_examples=200)
def test_a_preferred_size_is_not_cut(head: tuple[BatchRules, ReferenceQueue, int]) -> None:
    rules, queue, now = head
    summary = queue.summary(now)
    if summary.best_requests and not summary.overshoot:
        decision = decide(summary, now, rules)
        assert (decision.requests, decision.rows) == (summary.best_requests, summary.best_rows)


GEARS = (GearCost(1, 10), GearCost(2, 12), GearCost(4, 20), GearCost(8, 35))


def ones(count: int, **fields: int) -> QueueSummary:
    return QueueSummary(count, count, oldest=START, newest=fields.pop("newest", START), **fields)


@pytest.mark.parametrize(
    ("rows", "sent", "gear"),
    [(1, 1, 1), (2, 2, 2), (3, 3, 4), (4, 4, 4), (5, 4, 4), (6, 4, 4), (7, 7, 8), (8, 8, 8)],
)
def test_a_cut_at_the_gear_where_the_rest_costs_less_than_the_padding(
    rows: int, sent: int, gear: int
) -> None:
    # 5 rows: 20 + 10 is less than 35, 6: 20 + 12, 7: 20 + 20 is not. 3 rows: 12 + 10 is more than 20.
    rules = BatchRules(8, (8,), 0, GEARS)
    summary = ones(rows, best_requests=8, best_rows=8) if rows == 8 else ones(rows)
    assert decide(summary, START, rules) == Decision(sent, sent, 0, 0, gear)


STEEP = (GearCost(1, 1), GearCost(2, 2), GearCost(4, 20), GearCost(8, 90))


def test_a_preferred_size_is_not_cut_even_where_that_would_cost_less() -> None:
    best = {"best_requests": 4, "best_rows": 4}
    assert decide(ones(4, **best), START, BatchRules(8, (4, 6), 0, STEEP)).requests == 4
    assert decide(ones(4), START, BatchRules(8, (6,), 0, STEEP)).requests == 2
    late = START + 100
    assert decide(ones(4, **best), late, BatchRules(8, (4, 6), 100, STEEP)).requests == 4


def test_what_stops_short_of_a_preferred_size_may_be_cut() -> None:
    # Rows 1, 1, 1 and 3: all are more than 4, the largest preferred size, and 3 is none.
    summary = QueueSummary(4, 6, True, 3, 3, overshoot=True, oldest=START, newest=START)
    summary.gear_requests, summary.gear_rows = [1, 2, 3, 4], [1, 2, 3, 6]
    assert decide(summary, START, BatchRules(8, (4,), 0, STEEP)) == Decision(2, 2, 0, 0, 2)
    assert decide(summary, START, BatchRules(8, (4,), 0)) == Decision(3, 3, 0, 0, None)


def test_no_cut_while_the_rest_would_have_to_wait_for_its_delay() -> None:
    rules = BatchRules(8, (8,), 100, GEARS)
    now = START + 100
    assert decide(ones(5, newest=START + 1), now, rules).requests == 5
    assert decide(ones(5, newest=START), now, rules).requests == 4


def test_requests_of_several_rows_are_cut_between_them() -> None:
    rules = BatchRules(8, (8,), 0, GEARS)
    summary = QueueSummary(2, 5, oldest=1, newest=1, gear_requests=[0, 0, 1, 2], gear_rows=[0, 0, 3, 5])
    assert decide(summary, 1, rules) == Decision(1, 3, 0, 0, 4)
    summary.gear_requests, summary.gear_rows = [], []  # not filled in: then it is not cut
    assert decide(summary, 1, rules) == Decision(2, 5, 0, 0, 8)


def test_a_gear_that_was_not_measured_takes_no_part() -> None:
    unknown = (GearCost(1, 10), GearCost(4, 0), GearCost(8, 35))
    rules = BatchRules(8, (8,), 0, unknown)
    assert rules.row_gears == (1, 1, 0, 0, 0, 8, 8, 8, 8)
    assert decide(ones(5), START, rules) == Decision(5, 5, 0, 0, 8)  # 1 + 4: nobody knows what 4 costs
    assert decide(ones(3), START, rules) == Decision(3, 3, 0, 0, None)
    assert decide(ones(5), START, rules.with_gears(reversed(GEARS))).requests == 4


def test_a_larger_gear_that_is_cheaper_is_the_one_it_runs_in() -> None:
    rules = BatchRules(8, (8,), 0, (GearCost(4, 30), GearCost(8, 25)))
    assert decide(ones(3), START, rules).gear == 8
    assert decide(ones(5), START, rules).requests == 5


def test_rows_above_the_largest_gear_are_left_to_the_backend() -> None:
    rules = BatchRules(16, (16,), 0, GEARS)
    assert decide(ones(11), START, rules) == Decision(11, 11, 0, 0, None)


def test_an_empty_queue_waits_for_the_first_request() -> None:
    rules = BatchRules(8, (8,), 100)
    assert decide(QueueSummary(), START, rules) == Decision(0, 0, 0, 1, None)


def test_a_wait_ends_at_the_delay_or_at_a_deadline_before_it() -> None:
    rules = BatchRules(8, (2, 6), 100)
    assert decide(ones(1), START + 5, rules) == Decision(0, 0, START + 100, 2, None)
    assert decide(ones(1, next_deadline=START + 50), START + 5, rules).wait_until == START + 50
    assert decide(ones(1, next_deadline=START + 150), START + 5, rules).wait_until == START + 100
    assert decide(ones(3), START + 5, rules).wake_rows == 6


def test_a_clock_that_is_a_little_behind_the_arrivals_does_no_harm() -> None:
    assert decide(ones(3), START - 1, BatchRules(8, (8,), 0)).requests == 3
    assert decide(ones(3), START - 1, BatchRules(8, (8,), 10)).wait_until == START + 10


def test_when_a_request_expires() -> None:
    assert expires_at(LevelRules(), 10, None) == (0, 0)
    assert expires_at(LevelRules(), 10, 5) == (0, 15)
    assert expires_at(LevelRules(timeout=7), 10, None) == (0, 17)
    assert expires_at(LevelRules(timeout=7), 10, 5) == (0, 15)
    assert expires_at(LevelRules(timeout=7), 10, 50) == (0, 17)
    assert expires_at(LevelRules(timeout=7, delays=True), 10, None) == (17, 0)
    assert expires_at(LevelRules(timeout=7, delays=True), 10, 50) == (17, 60)
    assert expires_at(LevelRules(), 10, 0) == (0, 10)
