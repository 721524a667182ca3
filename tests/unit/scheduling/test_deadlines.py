"""Priorities, queue policies, deadlines and cancellation, with instances that are busy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from held_model import LIMIT, Caller, HeldModel, HeldSession, request, rows, until

from ascend_infer import Batching, QueuePolicy
from ascend_infer.errors import DeadlineExceededError, QueueFullError, RequestCancelledError

WEEK = 7 * 86400 * 1_000_000


def ended(into: list[str]):  # type: ignore[no-untyped-def]
    return lambda done: into.append(done.request_id)


def called(session: HeldSession, way: str, timeout: float) -> None:
    """Run a request and wait for it."""

    async def wait() -> None:
        await session.ainfer(rows(1), timeout=timeout)

    if way == "infer":
        session.infer(rows(1), timeout=timeout)
    elif way == "submit":
        session.submit(rows(1), timeout=timeout).result(LIMIT)
    else:
        asyncio.run(wait())


def policy(**fields: object) -> Batching:
    return Batching(default_queue_policy=QueuePolicy(**fields))  # type: ignore[arg-type]


def test_a_request_is_over_from_its_deadline_on() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        session.submit(rows(0))
        run = model.next_run()
        order: list[str] = []
        late = request(1, timeout=10**12)
        session.scheduler.submit(late, ended(order))
        session.scheduler.submit(request(2), ended(order))
        deadline = late.called + 10**12
        session.queue.expire(deadline - 1)
        assert not late.done
        assert session.queue.expire(deadline) == 0
        assert late.done
        assert isinstance(late.error, DeadlineExceededError)
        assert late.error.timeout == 1000
        assert order == ["1"]
        run.release()
        assert model.next_run().values == [2]


def test_the_queue_says_when_to_look_again() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        session.submit(rows(0))
        model.next_run()
        made = [request(value, timeout=(9 - value) * 10**12) for value in range(1, 8)]
        for one in made:
            session.scheduler.submit(one, lambda done: None)
        moments = sorted(one.called + one.timeout for one in made)
        now = 0
        for moment in moments:
            assert session.queue.expire(now) == moment
            now = moment
        assert session.queue.expire(now) == 0
        assert session.queue.count == 0


@pytest.mark.parametrize("way", ["infer", "submit", "ainfer"])
@pytest.mark.parametrize("batched", [False, True])
def test_every_way_in_ends_at_its_deadline_while_the_instance_is_busy(way: str, batched: bool) -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching() if batched else None) as session:
        session.submit(rows(0))
        run = model.next_run()
        began = time.monotonic()
        with pytest.raises(DeadlineExceededError) as caught:
            called(session, way, 0.02)
        assert time.monotonic() - began >= 0.02
        assert caught.value.timeout == 0.02
        assert session.queue.count == 0
        assert not run.over.is_set()
        run.release()
        until(lambda: session.queue.running == 0)
        assert len(model.runs) == 1


@pytest.mark.parametrize("way", ["infer", "submit"])
def test_a_run_that_is_too_late_is_stopped_and_its_result_dropped(way: str) -> None:
    model = HeldModel(held=True, stops=True)
    with HeldSession(model) as session:
        with pytest.raises(DeadlineExceededError):
            called(session, way, 0.05)
        until(lambda: session.queue.running == 0)
        assert len(model.runs) <= 1
        assert all(run.cancelled for run in model.runs)
        model.held = False
        assert session.infer(rows(2))["y"][0, 0] == 4


def test_the_policys_timeout_refuses() -> None:
    model = HeldModel(held=True)
    refusing = QueuePolicy("REJECT", default_timeout_microseconds=10_000)
    batching = Batching(
        priority_levels=2, default_priority_level=1, priority_queue_policy={1: refusing, 2: QueuePolicy()}
    )
    with HeldSession(model, batching=batching) as session:
        session.submit(rows(0), priority=2)
        model.next_run()
        for call in (lambda: session.submit(rows(1)).result(LIMIT), lambda: session.infer(rows(1))):
            with pytest.raises(DeadlineExceededError, match=r"queue policy.*\(0\.01 s\)") as caught:
                call()
            assert caught.value.timeout == 0.01, "what was allowed"
        assert session.counters.snapshot().failures == (2, 0, 0, 0)


def test_delayed_requests_go_behind_the_others_of_their_level() -> None:
    model = HeldModel(held=True)
    batching = policy(timeout_action="DELAY", default_timeout_microseconds=WEEK)
    with HeldSession(model, batching=batching, max_batch_size=1) as session:
        session.submit(rows(0))
        run = model.next_run()
        early = [request(value) for value in (1, 2)]
        for one in early:
            session.scheduler.submit(one, lambda done: None)
        session.queue.expire(early[1].queued + WEEK * 1000)
        session.submit(rows(3))
        for value in (3, 1, 2):
            run.release()
            run = model.next_run()
            assert run.values == [value]
        run.release()
        assert session.counters.snapshot().failures == (0, 0, 0, 0)


def test_a_delayed_request_keeps_its_own_deadline() -> None:
    model = HeldModel(held=True)
    batching = policy(timeout_action="DELAY", default_timeout_microseconds=WEEK, allow_timeout_override=True)
    with HeldSession(model, batching=batching) as session:
        session.submit(rows(0))
        model.next_run()
        one = request(1, timeout=2 * WEEK * 1000)
        session.scheduler.submit(one, lambda done: None)
        assert session.queue.expire(one.queued + WEEK * 1000) == one.called + 2 * WEEK * 1000
        assert not one.done
        session.queue.expire(one.called + 2 * WEEK * 1000)
        assert isinstance(one.error, DeadlineExceededError)


def test_better_priorities_are_served_first_and_first_come_within_one() -> None:
    model = HeldModel(held=True)
    batching = Batching(priority_levels=3, default_priority_level=2)
    with HeldSession(model, batching=batching, max_batch_size=1) as session:
        session.submit(rows(0))
        run = model.next_run()
        for value, priority in ((1, 3), (2, 0), (3, 1), (4, 2), (5, 1), (6, 3)):
            session.submit(rows(value), priority=priority)
        for value in (3, 5, 2, 4, 1, 6):
            run.release()
            run = model.next_run()
            assert run.values == [value]
        run.release()


def test_a_full_level_says_how_many_wait_and_others_have_room() -> None:
    model = HeldModel(held=True)
    batching = Batching(
        priority_levels=2,
        default_priority_level=1,
        priority_queue_policy={1: QueuePolicy(max_queue_size=2), 2: QueuePolicy(max_queue_size=1)},
    )
    with HeldSession(model, batching=batching) as session:
        session.submit(rows(0))
        model.next_run()
        for value in (1, 2):
            session.submit(rows(value))
        with pytest.raises(QueueFullError, match="2 requests wait already") as caught:
            session.submit(rows(3))
        assert caught.value.depth == 2
        kept = session.submit(rows(4), priority=2)
        for call in (session.submit, session.infer):
            with pytest.raises(QueueFullError, match="1 request waits already") as caught:
                call(rows(5), priority=2)
            assert caught.value.depth == 1

        async def wait() -> None:
            await session.ainfer(rows(6))

        with pytest.raises(QueueFullError):
            asyncio.run(wait())
        assert session.counters.snapshot().failures == (4, 0, 0, 0)
        assert kept.cancel()
        session.submit(rows(7), priority=2)


def test_cancelling_a_future_takes_it_out_of_the_queue() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        session.submit(rows(0))
        run = model.next_run()
        first, second = session.submit(rows(1)), session.submit(rows(2))
        assert session.counters.pending == 2
        assert first.cancel()
        assert first.cancel(), "again is the same"
        assert session.counters.pending == 1
        assert first.cancelled()
        assert first.done()
        run.release()
        assert model.next_run().values == [2]
        assert second.running()
        assert second.cancel(), "also one that runs"
        model.release_all()
        until(lambda: session.queue.running == 0)
        assert session.counters.snapshot().failures == (0, 2, 0, 0)


def test_a_future_that_is_done_cannot_be_cancelled() -> None:
    with HeldSession(HeldModel()) as session:
        future = session.submit(rows(1))
        future.result()
        assert not future.cancel()
        assert not future.cancelled()
        assert future.result()["y"][0, 0] == 2


@pytest.mark.parametrize("way", ["cancel", "wait_for", "group"])
@pytest.mark.parametrize("runs", [False, True])
def test_cancelling_a_task_takes_its_request_back(way: str, runs: bool) -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        first = None if runs else session.submit(rows(0))
        if first is not None:
            model.next_run()

        async def fails() -> None:
            raise LookupError

        async def in_group(call: Coroutine[Any, Any, object]) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(call)
                await asyncio.sleep(0)
                group.create_task(fails())

        async def main() -> None:
            call = session.ainfer(rows(1))
            if runs:
                await asyncio.to_thread(model.next_run)
            if way == "cancel":
                task = asyncio.create_task(call)
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            elif way == "wait_for":
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(call, 0.01)
            else:
                with pytest.raises(ExceptionGroup):
                    await in_group(call)

        asyncio.run(main())
        assert session.queue.count == 0
        assert session.counters.snapshot().failures == (0, 1, 0, 0)
        model.release_all()
        until(lambda: session.queue.running == 0)
        assert len(model.runs) == 1


def test_a_cancelled_request_of_a_running_batch_leaves_the_others_theirs() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching()) as session:
        session.submit(rows(0))
        run = model.next_run()
        futures = [session.submit(rows(value)) for value in (1, 2, 3)]
        run.release()
        run = model.next_run()
        assert run.values == [1, 2, 3]
        assert futures[1].cancel()
        run.release()
        assert futures[0].result(LIMIT)["y"][0, 0] == 2
        assert futures[2].result(LIMIT)["y"][0, 0] == 6


def test_an_interrupted_caller_of_a_long_queue_is_not_in_it_any_more() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        session.submit(rows(0))
        model.next_run()
        caller = Caller(lambda: session.infer(rows(1), timeout=0.01))
        with pytest.raises(DeadlineExceededError):
            caller.outcome()
        assert session.queue.count == 0


def test_closing_with_deadlines_in_the_queue_leaves_nothing_to_look_at() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        session.submit(rows(0))
        model.next_run()
        waiting = request(1, timeout=10**12)
        session.scheduler.submit(waiting, lambda done: None)
        session.queue.close(cancel_pending=True)
        assert waiting.done
        assert session.queue.expire(waiting.called + 10**12) == 0


def test_cancelled_error_of_a_request_in_the_queue() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        session.submit(rows(0))
        model.next_run()
        waiting = request(1)
        session.scheduler.submit(waiting, lambda done: None)
        assert session.queue.cancel(waiting)
        assert not session.queue.cancel(waiting)
        assert isinstance(waiting.error, RequestCancelledError)
