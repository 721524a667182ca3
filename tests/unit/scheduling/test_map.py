"""Session.map and infer_many: order, the window, and what goes wrong in its place."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from held_model import Caller, HeldModel, HeldSession, Run, rows, until

from ascend_infer import Batching, QueuePolicy
from ascend_infer.errors import DeadlineExceededError, InvalidInputError, ModelExecutionError

BATCHINGS = pytest.mark.parametrize("batching", [None, Batching()], ids=["direct", "batches"])


class Source:
    """An iterable that counts how far it was read."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.read = 0

    def __iter__(self) -> Iterator[Any]:
        for item in self.items:
            self.read += 1
            if isinstance(item, BaseException):
                raise item
            yield item


def slow_rows(count: int, seconds: float) -> Iterator[Any]:
    """Yield rows of 0, 1, ..., each of which takes that long to come."""
    for value in range(count):
        ready = time.perf_counter() + seconds
        until(lambda ready=ready: time.perf_counter() > ready)
        yield rows(value)


def firsts(results: Any) -> list[float]:
    return [float(result["y"][0, 0]) for result in results]


def collect(results: Any, into: list[float]) -> None:
    into.extend(float(result["y"][0, 0]) for result in results)  # as far as it comes


@BATCHINGS
@pytest.mark.parametrize("instances", [1, 3])
def test_results_come_in_order(batching: Batching | None, instances: int) -> None:
    with HeldSession(*(HeldModel() for _ in range(instances)), batching=batching) as session:
        inputs = [rows(value, 1 + value % 3) for value in range(300)]
        results = session.infer_many(inputs)
        assert firsts(results) == [2 * value for value in range(300)]
        assert [len(result["y"]) for result in results] == [1 + value % 3 for value in range(300)]
        assert session.infer_many([]) == []


@BATCHINGS
@pytest.mark.parametrize("window", [None, 1, 2, 5, 16, 100])
def test_the_iterable_is_read_no_more_than_the_window_ahead(
    batching: Batching | None, window: int | None
) -> None:
    with HeldSession(HeldModel(), HeldModel(), batching=batching) as session:
        source = Source([rows(value) for value in range(400)])
        most = 0
        for number, result in enumerate(session.map(source, window=window), 1):
            assert result["y"][0, 0] == 2 * (number - 1)
            most = max(most, source.read - number)
        assert source.read == 400
        assert 1 <= most <= (window or 50)


@BATCHINGS
def test_what_is_wrong_is_told_after_the_results_before_it(batching: Batching | None) -> None:
    for wrong, error in (
        (rows(1, width=5), InvalidInputError),
        ({"q": 1}, InvalidInputError),
        (LookupError("in the source"), LookupError),
    ):
        with HeldSession(HeldModel(), batching=batching) as session:
            seen: list[float] = []
            source = Source([*(rows(value) for value in range(21)), wrong, rows(99)])
            with pytest.raises(error):
                collect(session.map(source, window=30), seen)
            assert seen == [2 * value for value in range(21)]
            until(lambda session=session: session.queue.running == session.queue.count == 0)


@BATCHINGS
def test_a_model_error_is_of_its_item_alone(batching: Batching | None) -> None:
    with HeldSession(HeldModel(), batching=batching) as session:
        model = session.models[0]

        def answer(run: Run) -> list[Any]:
            if 11 in run.values:
                raise ModelExecutionError("eleven", model="m")
            return model.computed(run)

        model.answer = answer
        seen: list[float] = []
        with pytest.raises(ModelExecutionError, match="eleven"):
            collect(session.map([rows(value) for value in range(30)]), seen)
        assert seen == [2 * value for value in range(11)]


def test_items_of_a_batch_that_failed_run_again_side_by_side_and_within_their_time() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching()) as session:
        results = session.map([rows(value) for value in range(4)], timeout=3.0)
        caller = Caller(lambda: next(results))
        run = model.next_run()
        assert run.values == [0, 1, 2, 3]
        run.release(ModelExecutionError("no", model="m"))
        run = model.next_run()
        until(lambda: run.rows + session.queue.count == 4)
        with pytest.raises(DeadlineExceededError):
            caller.outcome()


@BATCHINGS
def test_a_generator_that_is_closed_early_cancels_the_rest(batching: Batching | None) -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=batching) as session:
        results = session.map([rows(value) for value in range(100)], window=40)
        first = Caller(lambda: model.next_run().release())
        assert next(results)["y"][0, 0] == 0
        first.outcome()
        model.next_run()
        assert session.queue.count
        results.close()  # type: ignore[attr-defined]
        assert session.queue.count == 0
        model.release_all()
        until(lambda: session.queue.running == 0)
        assert len(model.runs) == 2


def test_rows_that_cannot_join_go_by_themselves() -> None:
    with HeldSession(HeldModel(), batching=Batching(), dims=(-1,)) as session:
        inputs: list[Any] = []
        for value in range(60):
            width = 4 if value % 7 else 5
            item: Any = rows(value, width=width)
            if value % 5 == 0:
                item = {"x": item["x"].tolist()} if value % 2 else np.asfortranarray(item["x"])
            inputs.append(item)
        results = session.map(inputs, cast="same_kind")
        assert firsts(results) == [2 * value for value in range(60)]
        assert max(run.rows for run in session.models[0].runs) > 1


def test_chosen_outputs_and_single_samples() -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:
        results = session.infer_many([rows(value) for value in range(20)], ["z"])
        assert [list(result) for result in results] == [["z"]] * 20
        singles = session.infer_many([np.full(4, value, np.float32) for value in range(20)], batched=False)
        assert [result["y"].shape for result in singles] == [(4,)] * 20
        assert [result["y"][0] for result in singles] == [2 * value for value in range(20)]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_short_queue_is_waited_for(size: int) -> None:
    batching = Batching(default_queue_policy=QueuePolicy(max_queue_size=size))
    with HeldSession(HeldModel(), batching=batching) as session:
        assert firsts(session.map([rows(value) for value in range(200)])) == [2 * v for v in range(200)]
        assert session.counters.snapshot().failures == (0, 0, 0, 0)


@BATCHINGS
def test_a_slow_source_makes_no_item_late(batching: Batching | None) -> None:
    with HeldSession(HeldModel(), batching=batching) as session:
        results = list(session.map(slow_rows(8, 0.1), timeout=0.5))
        assert firsts(results) == [2 * value for value in range(8)]
        assert max(result.timing.compute_input_ns for result in results) < 100_000_000
        assert [run.rows for run in session.models[0].runs] == [1] * 8


def test_rows_of_a_slow_source_travel_together_while_the_model_is_slower() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching()) as session:
        results: list[Any] = []
        caller = Caller(lambda: results.extend(session.map(slow_rows(20, 0.005))))
        first = model.next_run()
        began = time.perf_counter()
        until(lambda: time.perf_counter() > began + 1)
        first.release()
        second = model.next_run()
        assert second.rows == 1
        until(lambda: session.queue.count == 1)
        second.release()
        assert model.next_run().rows == 8
        model.release_all()
        caller.outcome()
        assert firsts(results) == [2 * value for value in range(20)]


@BATCHINGS
def test_each_item_counts_as_a_request(batching: Batching | None) -> None:
    with HeldSession(HeldModel(), batching=batching) as session:
        results = session.infer_many([rows(value, 1 + value % 2) for value in range(16)])
        counted = session.counters.snapshot()
        assert (counted.successes, counted.inferences) == (16, 24)
        assert sum(counted.response_counts) == 16
        assert all(sum(count for _, count in phase.counts) == 16 for phase in counted.histograms)
        times = [result.timing for result in results]
        assert counted.sums_ns[0] == sum(timing.total_ns for timing in times)
        assert counted.sums_ns[3] == sum(timing.compute_infer_ns for timing in times)
        assert counted.failures == (0, 0, 0, 0)


@BATCHINGS
def test_each_item_that_fails_counts_once(batching: Batching | None) -> None:
    with HeldSession(HeldModel(), batching=batching) as session:
        model = session.models[0]

        def answer(run: Run) -> list[Any]:
            if 3 in run.values:
                raise ModelExecutionError("three", model="m")
            return model.computed(run)

        model.answer = answer
        with pytest.raises(ModelExecutionError, match="three"):
            list(session.map([rows(value) for value in range(4)]))
        until(lambda: session.queue.running == session.queue.count == 0)
        counted = session.counters.snapshot()
        assert (counted.successes, counted.failures) == (3, (0, 0, 1, 0))


def test_each_item_that_is_late_counts() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching()) as session:
        session.submit(rows(-1))
        model.next_run()
        with pytest.raises(DeadlineExceededError):
            list(session.map([rows(value) for value in range(4)], timeout=0.01))
        assert session.counters.snapshot().failures == (4, 0, 0, 0)
