"""Callers that wait until a full queue has room."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest
from held_model import LIMIT, Caller, HeldModel, HeldSession, rows, until

from ascend_infer import Batching, QueuePolicy
from ascend_infer.errors import ClosedError, DeadlineExceededError, QueueFullError

ONE = Batching(default_queue_policy=QueuePolicy(max_queue_size=1))
TWO_LEVELS = Batching(
    priority_levels=2,
    default_priority_level=1,
    priority_queue_policy={1: QueuePolicy(max_queue_size=1), 2: QueuePolicy(max_queue_size=1)},
)


def filled(session: HeldSession, model: HeldModel, priority: int = 0) -> Any:
    """Have one request run and one wait; returns the run."""
    session.submit(rows(0))
    run = model.next_run()
    session.submit(rows(1), priority=priority)
    return run


def seeking(session: HeldSession, value: float, **options: Any) -> Caller:
    """Submit in a thread of its own, which waits for room."""
    before = session.queue.seeking
    caller = Caller(lambda: session.submit(rows(value), block=True, **options).result(LIMIT)["y"][0, 0])
    until(lambda: session.queue.seeking == before + 1)
    return caller


def test_who_waits_for_room_is_served_in_its_turn() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=ONE, max_batch_size=1) as session:
        run = filled(session, model)
        callers = [seeking(session, value) for value in (2, 3, 4)]
        for value in (1, 2, 3, 4):
            run.release()
            run = model.next_run()
            assert run.values == [value]
        run.release()
        assert [caller.outcome() for caller in callers] == [2 * value for value in (2, 3, 4)]
        assert session.counters.snapshot().failures == (0, 0, 0, 0)


def test_nobody_waits_for_room_that_is_there() -> None:
    model = HeldModel()
    with HeldSession(model, batching=ONE) as session:
        assert session.submit(rows(1), block=True).result(LIMIT).timing.total_ns > 0
        assert session.queue.seeking == 0


def test_a_cancelled_request_makes_room() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=ONE, max_batch_size=1) as session:
        session.submit(rows(0))
        run = model.next_run()
        waits = session.submit(rows(1))
        caller = seeking(session, 2)
        assert waits.cancel()
        until(lambda: session.queue.seeking == 0)
        model.release_all()
        run.release()
        caller.outcome()


def test_the_room_of_one_level_is_none_for_another() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=TWO_LEVELS, max_batch_size=1) as session:
        run = filled(session, model, priority=2)
        first = session.submit(rows(2), priority=1)
        low, high = seeking(session, 3, priority=2), seeking(session, 4, priority=1)
        run.release()
        run = model.next_run()  # of the first level: room for `high`, although `low` came before
        assert run.values == [2]
        until(lambda: session.queue.seeking == 1)
        model.release_all()
        run.release()
        assert first.result(LIMIT)
        assert low.outcome() < high.outcome()


def test_the_timeout_counts_while_there_is_no_room() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=ONE, max_batch_size=1) as session:
        run = filled(session, model)
        with pytest.raises(DeadlineExceededError, match=r"timeout of 0\.01 s"):
            session.submit(rows(2), block=True, timeout=0.01)
        assert session.queue.seeking == 0
        assert session.counters.snapshot().failures == (1, 0, 0, 0)
        model.release_all()
        run.release()


def test_closing_ends_the_wait_of_all() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=ONE, max_batch_size=1) as session:
        run = filled(session, model)
        callers = [seeking(session, value) for value in (2, 3, 4)]
        session.queue.close()
        for caller in callers:
            with pytest.raises(ClosedError):
                caller.outcome()
        model.release_all()
        run.release()


def test_a_signal_ends_the_wait_and_the_next_one_takes_the_room() -> None:
    model = HeldModel(held=True)

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with HeldSession(model, batching=ONE, max_batch_size=1) as session:
            run = filled(session, model)
            caller = seeking(session, 2)

            def press() -> None:
                until(lambda: session.queue.seeking == 2)
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

            pressing = Caller(press)
            with pytest.raises(KeyboardInterrupt):
                session.submit(rows(3), block=True)
            pressing.outcome()
            assert session.queue.seeking == 1
            model.release_all()
            run.release()
            assert caller.outcome()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_callback_does_not_wait_for_itself() -> None:
    model = HeldModel(held=True)
    told: list[Exception] = []
    with HeldSession(model, batching=ONE, max_batch_size=1) as session:
        first = session.submit(rows(0))
        run = model.next_run()

        def more(_: object) -> None:
            session.submit(rows(2))
            try:
                session.submit(rows(3), block=True)
            except QueueFullError as error:
                told.append(error)

        first.add_done_callback(more)
        model.release_all()
        run.release()
        until(lambda: told)
    assert "block=True" in str(told[0])


def test_map_waits_for_room_that_others_have_taken() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=ONE, max_batch_size=1) as session:
        run = filled(session, model)
        caller = Caller(lambda: [result["y"][0, 0] for result in session.map(rows(v) for v in (2, 3, 4))])
        until(lambda: session.queue.seeking == 1)
        model.release_all()
        run.release()
        assert caller.outcome() == [2 * value for value in (2, 3, 4)]


def test_many_callers_and_one_place_lose_nobody() -> None:
    model = HeldModel()
    with HeldSession(model, batching=ONE, max_batch_size=1) as session:

        def calls(which: int) -> list[float]:
            return [
                session.submit(rows(value), block=True).result(LIMIT)["y"][0, 0]
                for value in range(1000 * which, 1000 * which + 200)
            ]

        callers = [Caller(lambda which=which: calls(which)) for which in range(8)]
        for which, caller in enumerate(callers):
            want = [2 * value for value in range(1000 * which, 1000 * which + 200)]
            assert caller.outcome() == want
        assert session.queue.seeking == 0
