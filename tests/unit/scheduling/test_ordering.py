"""preserve_ordering: results come in the order of the requests, whichever instance is done first."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from held_model import LIMIT, Caller, HeldModel, HeldSession, Run, request, rows, until

from ascend_infer import Batching
from ascend_infer.errors import DeadlineExceededError, ModelExecutionError

ORDERED = Batching(preserve_ordering=True)


class Told:
    """What was answered, in order."""

    def __init__(self, session: HeldSession) -> None:
        self.session = session
        self.order: list[str] = []

    def send(self, value: float, timeout: int = 0) -> Any:
        one = request(value, timeout=timeout)
        self.session.scheduler.submit(one, lambda done: self.order.append(done.request_id))
        return one


def occupied(session: HeldSession, told: Told) -> list[Any]:
    """Return the runs of requests 0, 1, ..., one on each instance."""
    runs = []
    for number, _ in enumerate(session.models):
        told.send(number)
        until(lambda: session.queue.count == 0)
        until(lambda count=number + 1: sum(len(model.runs) for model in session.models) == count)
        runs.append(next(run for model in session.models for run in model.runs if run.values == [number]))
    return runs


def all_runs(session: HeldSession) -> list[Run]:
    return [run for model in session.models for run in list(model.runs)]


def called(session: HeldSession, way: str, value: float, timeout: float) -> None:
    if way == "infer":
        session.infer(rows(value), timeout=timeout)
    else:
        session.submit(rows(value), timeout=timeout).result(LIMIT)


def held(count: int) -> list[HeldModel]:
    return [HeldModel(held=True) for _ in range(count)]


def test_results_wait_for_those_before_them() -> None:
    with HeldSession(*held(3), batching=ORDERED) as session:
        told = Told(session)
        runs = occupied(session, told)
        runs[2].release()
        until(lambda: session.queue.running == 2)
        runs[1].release()
        until(lambda: session.queue.running == 1)
        assert told.order == []
        runs[0].release()
        until(lambda: told.order == ["0", "1", "2"])


def test_errors_of_the_model_wait_as_well() -> None:
    with HeldSession(*held(3), batching=ORDERED) as session:
        told = Told(session)
        runs = occupied(session, told)
        runs[1].release(ModelExecutionError("no", model="m"))
        until(lambda: session.queue.running == 2)
        assert told.order == []
        runs[0].release()
        until(lambda: told.order == ["0", "1"])
        runs[2].release()
        until(lambda: told.order == ["0", "1", "2"])


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_cancelled_run_holds_up_nobody(which: int) -> None:
    with HeldSession(*held(3), batching=ORDERED) as session:
        told = Told(session)
        made = []
        for number, _ in enumerate(session.models):
            made.append(told.send(number))
            until(lambda: session.queue.count == 0)
        until(lambda: sum(len(model.runs) for model in session.models) == 3)
        assert session.queue.cancel(made[which])
        assert session.queue.cancel(made[which]), "it has left"
        assert told.order == [str(which)]
        for model in session.models:
            model.release_all()
        rest = [str(number) for number in range(3) if number != which]
        until(lambda: told.order == [str(which), *rest])


def test_one_that_waits_can_be_cancelled_twice() -> None:
    with HeldSession(*held(1), batching=ORDERED) as session:
        told = Told(session)
        [run] = occupied(session, told)
        waiting = told.send(1)
        last = told.send(2)
        assert session.queue.cancel(waiting)
        assert not session.queue.cancel(waiting)
        assert told.order == ["1"]
        run.release()
        session.models[0].next_run()
        session.models[0].next_run().release()
        until(lambda: told.order == ["1", "0", "2"])
        assert last.error is None


@pytest.mark.parametrize("way", ["infer", "submit"])
def test_deadlines_hold_for_what_waits_behind_a_long_run(way: str) -> None:
    with HeldSession(*held(1), batching=ORDERED) as session:
        told = Told(session)
        [run] = occupied(session, told)
        with pytest.raises(DeadlineExceededError):
            called(session, way, 1, 0.01)
        assert told.order == []
        run.release()
        until(lambda: told.order == ["0"])


@pytest.mark.parametrize("way", ["infer", "submit"])
def test_a_result_that_is_held_back_beyond_its_deadline_is_late(way: str) -> None:
    with HeldSession(*held(2), batching=ORDERED) as session:
        told = Told(session)
        runs = occupied(session, told)
        runs[1].release()
        until(lambda: session.queue.running == 1)
        caller = Caller(lambda: called(session, way, 5, 0.2))
        # Whether it ran by then or not, it is late.
        until(lambda: caller.error is not None or any(run.values == [5] for run in all_runs(session)))
        for run in all_runs(session):
            if run.values == [5]:
                run.release()
        with pytest.raises(DeadlineExceededError):
            caller.outcome()
        runs[0].release()
        until(lambda: told.order == ["0", "1"])


def test_a_callback_that_sends_the_next_request_does_not_mix_up_the_order() -> None:
    with HeldSession(*held(2), batching=ORDERED) as session:
        told = Told(session)
        order: list[float] = []

        def again(done: Any) -> None:
            order.append(float(done.request_id))
            if len(order) < 20:
                session.scheduler.submit(request(len(order)), again)

        for model in session.models:
            model.release_all()
        session.scheduler.submit(request(0), again)
        until(lambda: len(order) == 20)
        assert order == list(range(20))
        assert told.order == []


def test_many_in_batches_come_in_order() -> None:
    models = [HeldModel() for _ in range(3)]
    with HeldSession(*models, batching=ORDERED) as session:
        told = Told(session)
        for value in range(2000):
            told.send(value)
        until(lambda: len(told.order) == 2000)
        assert told.order == [f"{value:g}" for value in range(2000)]


@pytest.mark.parametrize("way", ["infer", "submit"])
def test_a_result_that_is_held_back_beyond_its_deadline_counts_as_late(way: str) -> None:
    with HeldSession(*held(2), batching=ORDERED) as session:
        first = session.submit(rows(0))
        until(lambda: len(all_runs(session)) == 1)
        caller = Caller(lambda: called(session, way, 1, 2.0))
        until(lambda: len(all_runs(session)) == 2)
        next(run for run in all_runs(session) if run.values == [1]).release()
        until(lambda: session.queue.running == 1)
        with pytest.raises(DeadlineExceededError):
            caller.outcome()
        counted = session.counters.snapshot()
        assert (counted.successes, counted.failures) == (0, (0, 0, 0, 1))
        for model in session.models:
            model.release_all()
        first.result(LIMIT)
        assert session.counters.snapshot().successes == 1


def test_an_error_that_is_held_back_counts_when_it_is_told() -> None:
    with HeldSession(*held(2), batching=ORDERED) as session:
        told = Told(session)
        runs = occupied(session, told)
        runs[1].release(ModelExecutionError("no", model="m"))
        until(lambda: session.queue.running == 1)
        assert session.counters.snapshot().failures == (0, 0, 0, 0)
        runs[0].release()
        until(lambda: told.order == ["0", "1"])
        counted = session.counters.snapshot()
        assert (counted.successes, counted.failures) == (1, (0, 0, 1, 0))


def test_a_slow_callback_holds_up_nobody_else() -> None:
    with HeldSession(*held(2), batching=ORDERED) as session:
        called: list[str] = []
        entered, go_on = threading.Event(), threading.Event()

        def slow(future: Any) -> None:
            entered.set()
            assert go_on.wait(2 * LIMIT)
            called.append("first")

        first = session.submit(rows(0))
        first.add_done_callback(slow)
        until(lambda: len(all_runs(session)) == 1)
        caller = Caller(lambda: session.infer(rows(1)))
        until(lambda: len(all_runs(session)) == 2)
        last = session.submit(rows(2))
        last.add_done_callback(lambda future: called.append("last"))
        waiting = Caller(lambda: last.result(LIMIT))
        try:
            for model in session.models:
                model.release_all()
            assert entered.wait(LIMIT)
            assert caller.outcome()["y"][0, 0] == 2
            assert waiting.outcome()["y"][0, 0] == 4
            assert called == []
        finally:
            go_on.set()
        until(lambda: called == ["first", "last"])
