"""Runs that hang, instances out of service, and closing while requests wait and run."""

from __future__ import annotations

import logging
import time

import pytest
from held_model import LIMIT, Caller, HeldModel, HeldSession, Run, rows, until

from ascend_infer import Batching
from ascend_infer.errors import (
    ClosedError,
    DeadlineExceededError,
    InstanceUnavailableError,
    ModelExecutionError,
)
from ascend_infer.types import ModelInstance


def hang(session: HeldSession, model: HeldModel) -> Run:
    """Have a request time out in a run that goes on, and wait until that is given up."""
    caller = Caller(lambda: session.submit(rows(1), timeout=0.2).result(LIMIT))
    until(lambda: any(not run.over.is_set() for run in list(model.runs)) or caller.error is not None)
    with pytest.raises(DeadlineExceededError):
        caller.outcome()
    return model.next_run()


def _state(instance: ModelInstance) -> str:
    return instance.state


def test_a_hanging_instance_leaves_service_and_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    models = [HeldModel(held=True), HeldModel()]
    with HeldSession(*models, patience=0.0) as session:
        run = hang(session, models[0])
        until(lambda: session.scheduler.occupation()[:2] == (1, 1))
        ready, hangs = sorted((instance.seen() for instance in session.scheduler.instances), key=_state)
        assert (ready.state, ready.reason) == ("READY", "")
        assert (hangs.state, hangs.reason) == ("UNAVAILABLE", "a run that nobody waits for any more goes on")
        assert session.scheduler.occupation()[4] == 1
        for value in range(5):
            assert session.infer(rows(value), timeout=LIMIT)["y"][0, 0] == 2 * value
        assert "out of service until it ends" in caplog.text
        with caplog.at_level(logging.WARNING):
            run.release()
            until(lambda: session.scheduler.occupation() == (2, 0, 2, 0, 0))
        until(lambda: "in service again" in caplog.text)
        assert session.queue.usable == 2


def test_without_an_instance_requests_end_at_once_and_so_do_those_that_wait() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, patience=0.0) as session:
        first = session.submit(rows(1))
        run = model.next_run()
        waiting = [session.submit(rows(value), timeout=LIMIT) for value in (2, 3)]
        assert first.cancel()
        for future in waiting:
            with pytest.raises(InstanceUnavailableError, match="no instance is in service"):
                future.result(LIMIT)
        for call in (session.infer, session.submit):
            with pytest.raises(InstanceUnavailableError):
                call(rows(4))
        assert session.counters.snapshot().failures == (0, 1, 0, 4)
        model.held = False
        run.release()
        until(lambda: session.queue.usable == 1)
        assert session.infer(rows(5))["y"][0, 0] == 10
        assert session.submit(rows(6)).result(LIMIT)["y"][0, 0] == 12


def test_how_long_a_run_hung_that_was_left_says_nothing_of_the_next() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        future = session.submit(rows(1))
        run = model.next_run()
        assert future.cancel()
        run.release()
        until(lambda: session.queue.running == 0)
        assert session.queue.longest == 0
        future = session.submit(rows(2))
        model.next_run().release()
        future.result(LIMIT)
        assert session.queue.longest > 0


def test_an_instance_with_slots_comes_back_when_none_of_its_runs_hangs() -> None:
    model = HeldModel(slots=3, held=True)
    with HeldSession(model, patience=0.0) as session:
        futures = [session.submit(rows(value)) for value in range(2)]
        runs = [model.next_run() for _ in futures]
        for future in futures:
            assert future.cancel()
        until(lambda: len(session.scheduler.instances[0].hanging) == 2)
        assert session.queue.usable == 0
        runs[0].release()
        until(lambda: len(session.scheduler.instances[0].hanging) == 1)
        assert session.scheduler.occupation()[:2] == (0, 1)
        assert session.queue.usable == 0
        model.held = False
        runs[1].release()
        until(lambda: session.queue.usable == 3)
        assert session.scheduler.occupation() == (1, 0, 3, 0, 0)
        results = [session.submit(rows(value)) for value in range(9)]
        assert [future.result(LIMIT)["y"][0, 0] for future in results] == [2 * value for value in range(9)]


def test_the_half_of_a_failed_batch_can_hang_too() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching(), patience=0.0) as session:
        session.submit(rows(-1))
        run = model.next_run()
        futures = [session.submit(rows(value)) for value in range(2)]
        run.release()
        model.next_run().release(ModelExecutionError("no", model="m"))
        run = model.next_run()
        assert run.values == [0]
        assert futures[0].cancel()
        until(lambda: session.queue.usable == 0)
        run.release()
        model.next_run().release()
        assert futures[1].result(LIMIT)["y"][0, 0] == 2
        until(lambda: session.queue.usable == 1)


def test_closing_lets_what_waits_run() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        futures = [session.submit(rows(value)) for value in range(5)]
        model.next_run()
        closing = Caller(lambda: session.scheduler.close(LIMIT))
        until(lambda: session.queue.closed)
        for call in (session.infer, session.submit):
            with pytest.raises(ClosedError):
                call(rows(9))
        model.release_all()
        assert closing.outcome() is True
        assert [future.result(0)["y"][0, 0] for future in futures] == [0, 2, 4, 6, 8]
        assert session.scheduler.close(LIMIT) is True


def test_closing_does_not_wait_for_company() -> None:
    batching = Batching(max_queue_delay_microseconds=3600 * 10**6)
    with HeldSession(HeldModel(), batching=batching) as session:
        futures = [session.submit(rows(value)) for value in range(3)]
        assert session.scheduler.close(LIMIT)
        assert [future.result(0)["y"][0, 0] for future in futures] == [0, 2, 4]


def test_all_threads_end_when_the_last_request_is_answered() -> None:
    models = [HeldModel(held=True), HeldModel(held=True)]
    batching = Batching(max_queue_delay_microseconds=3600 * 10**6)
    with HeldSession(*models, batching=batching) as session:
        full = [session.submit(rows(value, 8)) for value in range(2)]
        runs = [model.next_run() for model in models]
        for model, run in zip(models, runs, strict=True):
            model.held = False
            run.release()
        for future in full:
            future.result(LIMIT)
        until(lambda: session.queue.running == 0)
        last = session.submit(rows(7))  # one thread waits for company, the other for nothing
        session.scheduler.abandon()
        assert last.result(LIMIT)["y"][0, 0] == 14
        until(lambda: session.scheduler.live_threads == 0)


@pytest.mark.parametrize("ordered", [False, True])
def test_closing_can_end_what_waits(ordered: bool) -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching(preserve_ordering=ordered)) as session:
        runs = session.submit(rows(0))
        model.next_run()
        waiting = [session.submit(rows(value), timeout=LIMIT) for value in range(1, 4)]
        blocked = Caller(lambda: session.infer(rows(4)))
        until(lambda: session.queue.count == 4)
        closing = Caller(lambda: session.scheduler.close(LIMIT, cancel_pending=True))
        for future in waiting:
            with pytest.raises(ClosedError):
                future.result(LIMIT)
        with pytest.raises(ClosedError):
            blocked.outcome()
        model.release_all()
        assert closing.outcome()
        assert runs.result(0)["y"][0, 0] == 0
        assert session.counters.snapshot().failures == (0, 0, 0, 4)
        assert session.counters.pending == 0


def test_closing_is_bounded_and_answers_the_callers_of_a_run_that_hangs() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        future = session.submit(rows(0))
        model.next_run()
        blocked = Caller(lambda: session.infer(rows(1)))
        until(lambda: session.queue.count == 1)
        began = time.monotonic()
        assert session.scheduler.close(0.0) is False
        assert time.monotonic() - began < LIMIT / 2
        with pytest.raises(ClosedError, match="hung"):
            future.result(LIMIT)
        with pytest.raises(ClosedError):
            blocked.outcome()
        model.release_all()
        until(lambda: session.queue.running == 0)


def test_closing_ends_what_waits_behind_a_callers_own_run() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        own = Caller(lambda: session.infer(rows(0)))
        model.next_run()
        waiting = [session.submit(rows(value)) for value in range(1, 4)]
        assert session.scheduler.close(0.0) is False
        for future in waiting:
            with pytest.raises(ClosedError):
                future.result(0)
        model.release_all()
        assert own.outcome()["y"][0, 0] == 0
        assert session.scheduler.close(LIMIT) is True


def test_closing_stops_a_run_that_can_be_stopped() -> None:
    model = HeldModel(held=True, stops=True)
    with HeldSession(model) as session:
        future = session.submit(rows(0), timeout=LIMIT)
        run = model.next_run()
        assert session.scheduler.close(0.0) is True
        assert run.cancelled
        assert future.exception(0) is not None


@pytest.mark.parametrize("cancel_pending", [False, True])
def test_under_load_every_request_ends(cancel_pending: bool) -> None:
    models = [HeldModel(), HeldModel()]
    with HeldSession(*models, batching=Batching()) as session:
        ended = []

        def call(base: int) -> int:
            done = 0
            for value in range(100_000):
                try:
                    result = session.infer(rows(base + value % 7))
                except ClosedError:
                    return done
                assert result["y"][0, 0] == 2 * (base + value % 7)
                done += 1
                ended.append(1)
            return done

        callers = [Caller(lambda base=base: call(base)) for base in range(0, 80, 10)]
        until(lambda: len(ended) > 200)
        assert session.scheduler.close(LIMIT, cancel_pending)
        done = sum(caller.outcome() for caller in callers)
        counted = session.counters.snapshot()
        assert counted.successes == done
        assert counted.pending == 0
        assert sum(run.rows for model in models for run in model.runs) == done
