"""Requests without a micro-batcher: on the caller's thread when an instance is idle, in order otherwise."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from held_model import LIMIT, Caller, HeldModel, HeldSession, request, rows, until

from ascend_infer import Batching
from ascend_infer._native import Lane, RequestBatch
from ascend_infer.backends.base import Array, Cancellation
from ascend_infer.scheduling.futures import InferFuture


def warm(session: HeldSession) -> None:
    """Let the main thread know that runs are short."""
    session.scheduler._durations[(1, 4)] = 1000


def test_an_idle_instance_runs_on_the_callers_own_thread() -> None:
    model = HeldModel()
    with HeldSession(model) as session:
        warm(session)
        assert session.infer(rows(3))["y"][0, 0] == 6
        assert Caller(lambda: session.infer(rows(4))["y"][0, 0]).outcome() == 8
        assert model.runs[0].thread == threading.get_ident()
        assert model.runs[1].thread != threading.get_ident()
        assert not any(lane.started for lane in session.scheduler._lanes)


def test_a_first_run_on_the_main_thread_can_be_left_and_goes_to_a_worker() -> None:
    model = HeldModel()
    with HeldSession(model) as session:
        session.infer(rows(3))
        assert model.runs[0].thread != threading.get_ident()


def test_nothing_overtakes_what_waits() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        first = Caller(lambda: session.infer(rows(0)))
        run = model.next_run()
        waiting = []
        for value in (1, 2, 3):
            waiting.append(Caller(lambda value=value: session.infer(rows(value))))
            until(lambda count=value: session.queue.count == count)
        futures = [session.submit(rows(value)) for value in (4, 5)]
        last = Caller(lambda: session.infer(rows(6)))
        until(lambda: session.queue.count == 6)
        for value in range(1, 7):
            run.release()
            run = model.next_run()
            assert run.values == [value]
            assert session.queue.count == 6 - value
        run.release()
        for caller in (first, *waiting, last):
            caller.outcome()
        assert [future.result()["y"][0, 0] for future in futures] == [8, 10]
        assert len(model.runs) == 7


def test_each_instance_runs_as_many_batches_as_it_has_slots() -> None:
    models = [HeldModel(slots=2, held=True), HeldModel(slots=2, held=True)]
    with HeldSession(*models) as session:
        futures = [session.submit(rows(value)) for value in range(6)]
        until(lambda: sum(len(model.runs) for model in models) == 4)
        assert [len(model.runs) for model in models] == [2, 2]
        assert session.queue.running == 4
        assert session.queue.count == 2
        assert session.scheduler.occupation() == (2, 0, 4, 4, 0)
        models[1].runs[0].release()
        until(lambda: len(models[1].runs) == 3)
        for model in models:
            model.release_all()
        assert [future.result()["y"][0, 0] for future in futures] == [0, 2, 4, 6, 8, 10]


def test_the_least_busy_instance_is_next() -> None:
    models = [HeldModel(slots=3, held=True), HeldModel(slots=3, held=True)]
    with HeldSession(*models) as session:
        futures = [session.submit(rows(value)) for value in range(4)]
        until(lambda: [len(model.runs) for model in models] == [2, 2])
        for run in models[0].runs:
            run.release()
        until(lambda: session.scheduler.instances[0].busy == 0)
        # The other has a free slot too, and two runs.
        futures.append(session.submit(rows(9)))
        models[0].next_run()
        models[0].next_run()
        assert models[0].next_run().values == [9]
        # A caller's own thread goes by the same rule.
        caller = Caller(lambda: session.infer(rows(10)))
        assert models[0].next_run().values == [10]
        for model in models:
            model.release_all()
        caller.outcome()
        for future in futures:
            future.result()


def test_a_worker_that_was_waited_for_leads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    model = HeldModel(held=True)
    other = HeldModel(held=True)
    with HeldSession(model, other) as session:
        futures = [session.submit(rows(value)) for value in range(5)]
        seen = []
        for _ in range(5):
            until(lambda: not model.entered.empty() or not other.entered.empty())
            run = (model if not model.entered.empty() else other).next_run()
            seen += run.values
            run.release()
        assert sorted(seen) == [0, 1, 2, 3, 4]
        assert [future.result()["y"][0, 0] for future in futures] == [0, 2, 4, 6, 8]
        until(lambda: session.queue.running == 0)
        assert session.queue.count == 0


def test_an_error_on_the_callers_thread_gives_the_instance_back() -> None:
    model = HeldModel()
    with HeldSession(model) as session:
        warm(session)

        def fails(run: object) -> list[object]:
            raise ValueError("no")

        model.answer = fails  # type: ignore[assignment]
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                session.infer(rows(1))
        model.answer = model.computed
        assert session.infer(rows(1))["y"][0, 0] == 2
        assert session.queue.running == 0


@pytest.mark.parametrize("delay", [0, 10**9])
def test_a_delay_is_waited_also_when_an_instance_is_idle(delay: int) -> None:
    model = HeldModel()
    with HeldSession(model, batching=Batching(max_queue_delay_microseconds=delay)) as session:
        warm(session)
        caller = Caller(lambda: session.infer(rows(1, 4)))
        if delay:
            until(lambda: session.queue.count == 1)
            full = Caller(lambda: session.infer(rows(2, 4)))
            full.outcome()
        caller.outcome()
        assert [run.rows for run in model.runs] == ([8] if delay else [4])


class TimedModel(HeldModel):
    """Reports how long its runs took."""

    reports = True

    def __init__(self, nanoseconds: int, **options: Any) -> None:
        super().__init__(**options)
        self.nanoseconds = nanoseconds

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
        report: RequestBatch | None = None,
    ) -> list[Array]:
        arrays = super().execute(inputs, outputs, out, cancellation)
        assert report is not None
        report.computed = report.begun + self.nanoseconds
        return arrays


@pytest.mark.parametrize(("nanoseconds", "on_its_own"), [(1_000, True), (1_000_000, False)])
def test_company_is_waited_for_where_a_run_takes_longer_than_handing_it_over(
    nanoseconds: int, on_its_own: bool
) -> None:
    model = TimedModel(nanoseconds, held=True)
    with HeldSession(model, batching=Batching()) as session:
        futures = [session.submit(rows(0))]
        first = model.next_run()
        futures += [session.submit(rows(value)) for value in (1, 2)]
        first.release()
        both = model.next_run()
        assert both.rows == 2
        model.held = False
        both.release()
        for future in futures:
            future.result()
        caller = Caller(lambda: session.infer(rows(3)))
        caller.outcome()
        assert (model.runs[-1].thread == caller.ident) == on_its_own


def test_one_caller_does_not_keep_the_interpreter_to_itself() -> None:
    model = TimedModel(1_000)
    with HeldSession(model, batching=Batching()) as session:
        caller = Caller(lambda: [session.infer(rows(value)) for value in range(96)])
        caller.outcome()
        others = [run for run in model.runs if run.thread != caller.ident]
        assert [run.values for run in others] == [[23], [47], [71], [95]]


def test_a_thread_that_begins_late_leaves_a_borrowed_lane_alone() -> None:
    model = HeldModel()
    with HeldSession(model) as session:
        [lane] = session.scheduler._lanes

        def work(lane: Lane) -> list[Array]:
            # As the lane's own thread does when it gets to run, and what woke it is gone.
            assert session.queue.take(lane, 1) is None
            assert session.queue.running == 1
            return model.execute(rows(2), ["y"])

        made = request(1)
        assert session.queue.run_here(made, work)
        assert made.take_outputs()[0][0, 0] == 4
        assert session.queue.running == 0
        assert lane.batch is None


@pytest.mark.parametrize(
    "batching",
    [None, Batching(), Batching(preserve_ordering=True), Batching(max_queue_delay_microseconds=1)],
    ids=["direct", "batching", "ordered", "delay"],
)
def test_a_callback_may_block_in_a_call_of_its_session(batching: Batching | None) -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=batching, max_batch_size=2) as session:
        answers: queue.Queue[float] = queue.Queue()

        def again(future: InferFuture) -> None:
            model.held = False
            value = future.result(0)["y"][0, 0]
            answers.put(session.infer(rows(value), timeout=LIMIT)["y"][0, 0])

        first = session.submit(rows(1, 2))
        first.add_done_callback(again)
        run = model.next_run()
        waiting = [session.submit(rows(value, 2)) for value in range(3)]
        run.release()
        assert answers.get(timeout=LIMIT) == 4
        assert [future.result(LIMIT)["y"][0, 0] for future in waiting] == [0, 2, 4]
        assert session.counters.snapshot().successes == 5
    assert session.queue.running == 0
