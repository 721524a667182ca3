"""What runs together: which requests join, what each gets back, and what becomes of a batch that fails."""

from __future__ import annotations

import time

import numpy as np
import pytest
from held_model import LIMIT, Caller, HeldModel, HeldSession, Run, rows, until

from ascend_infer import Batching
from ascend_infer.errors import (
    AscendInferError,
    HostOutOfMemoryError,
    InvalidInputError,
    ModelExecutionError,
    RequestCancelledError,
)
from ascend_infer.scheduling.futures import InferFuture


def together(
    session: HeldSession, *sends: tuple[object, dict[str, object]], width: int = 4
) -> list[InferFuture]:
    """Queue requests behind a run that is held, then let everything go."""
    model = session.models[0]
    model.held = True
    session.submit(rows(-1, width=width))
    model.next_run()
    futures = [session.submit(inputs, **options) for inputs, options in sends]  # type: ignore[arg-type]
    model.release_all()
    return futures


def test_rows_come_back_to_whom_they_belong() -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:
        futures = together(session, *[(rows(value, count), {}) for value, count in ((1, 2), (2, 1), (3, 4))])
        for future, (value, count) in zip(futures, ((1, 2), (2, 1), (3, 4)), strict=True):
            result = future.result(LIMIT)
            np.testing.assert_array_equal(result["y"], np.full((count, 4), 2 * value, np.float32))
            np.testing.assert_array_equal(result["z"], np.full((count, 4), value + 1, np.float32))
            assert result.timing.batch_rows == 7
        assert [run.rows for run in session.models[0].runs] == [1, 7]


def test_shapes_close_a_batch() -> None:
    with HeldSession(HeldModel(), batching=Batching(), dims=(-1,)) as session:
        widths = (4, 4, 3, 4, 4, 2, 2)
        futures = together(session, *[(rows(i, width=width), {}) for i, width in enumerate(widths)])
        for number, (future, width) in enumerate(zip(futures, widths, strict=True)):
            np.testing.assert_array_equal(future.result(LIMIT)["y"], np.full((1, width), 2 * number))
        sizes = [run.inputs["x"].shape for run in session.models[0].runs]
        assert sizes == [(1, 4), (2, 4), (1, 3), (2, 4), (2, 2)]


def test_every_request_gets_the_outputs_it_chose_in_its_order() -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:
        choices = [None, ["y"], ["z"], ["z", "y"], ["y", "z"]]
        futures = together(session, *[(rows(i), {"outputs": names}) for i, names in enumerate(choices)])
        for number, (future, names) in enumerate(zip(futures, choices, strict=True)):
            result = future.result(LIMIT)
            assert list(result) == (names or ["y", "z"])
            for name in result:
                assert result[name][0, 0] == (2 * number if name == "y" else number + 1)
        assert len(session.models[0].runs) == 2


def test_single_samples_travel_with_batches() -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:
        single = {"x": np.full(4, 5, np.float32)}
        futures = together(
            session, (single, {"batched": False}), (rows(1, 2), {}), (single, {"batched": False})
        )
        shapes = [future.result(LIMIT)["y"].shape for future in futures]
        assert shapes == [(4,), (2, 4), (4,)]
        assert futures[2].result()["y"][0] == 10
        assert len(session.models[0].runs) == 2


def test_own_output_arrays_are_filled_after_a_batch_too() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching()) as session:
        session.submit(rows(-1))
        run = model.next_run()
        out = np.zeros((2, 4), np.float32)
        caller = Caller(lambda: session.infer(rows(3, 2), outputs=["y"], out={"y": out}))
        until(lambda: session.queue.count == 1)
        other = session.submit(rows(4))
        run.release()
        run = model.next_run()
        assert run.values == [3, 3, 4]
        model.release_all()
        assert caller.outcome()["y"] is out
        assert (out == 6).all()
        assert other.result(LIMIT)["y"][0, 0] == 8


def test_a_caller_that_has_left_finds_its_output_array_as_it_was() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching()) as session:
        out = np.zeros((1, 4), np.float32)
        with pytest.raises(TimeoutError):
            session.infer(rows(3), outputs=["y"], out={"y": out}, timeout=0.01)
        model.release_all()
        until(lambda: session.queue.running == 0)
        assert (out == 0).all()


@pytest.mark.parametrize("shape", [(2, 4), (0, 4), (), (9, 4)])
def test_a_model_that_returns_other_rows_fails_its_requests_with_the_cause(shape: tuple[int, ...]) -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:
        model = session.models[0]

        def wrong(run: Run) -> list[np.ndarray]:  # type: ignore[type-arg]
            if run.rows == 1:
                return model.computed(run)
            return [np.zeros(shape, np.float32) for _ in run.outputs]

        model.answer = wrong
        futures = together(session, (rows(1), {}), (rows(2, 2), {}))
        for future in futures:
            with pytest.raises(ModelExecutionError, match="for a batch of 3 rows"):
                future.result(LIMIT)
        assert session.infer(rows(4))["y"][0, 0] == 8
        assert session.counters.snapshot().failures == (0, 0, 2, 0)


def guilty(*values: float, error: BaseException | None = None):  # type: ignore[no-untyped-def]
    def answer(run: Run) -> list[np.ndarray]:  # type: ignore[type-arg]
        if set(run.values) & set(values):
            raise error or ModelExecutionError(f"a bad row among {run.values}", model="m")
        return [2 * run.inputs["x"] if name == "y" else run.inputs["x"] + 1 for name in run.outputs]

    return answer


@pytest.mark.parametrize("bad", [(0,), (3,), (7,), (2, 3), (0, 7), tuple(range(8))])
def test_only_the_guilty_fail(bad: tuple[int, ...]) -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:
        model = session.models[0]
        model.answer = guilty(*bad)
        futures = together(session, *[(rows(value), {}) for value in range(8)])
        for value, future in enumerate(futures):
            if value in bad:
                with pytest.raises(ModelExecutionError, match=rf"\[{value}.0\]"):
                    future.result(LIMIT)
            else:
                assert future.result(LIMIT)["y"][0, 0] == 2 * value
        until(lambda: session.queue.running == 0)
        counted = session.counters.snapshot()
        assert counted.executions == len(model.runs)
        assert counted.failures == (0, 0, len(bad), 0)
        assert counted.successes == 9 - len(bad)


class FaultError(AscendInferError):
    """What a device does, and not the model."""


@pytest.mark.parametrize(
    "error",
    [MemoryError("no"), RequestCancelledError("stopped"), ValueError("broken"), FaultError("device")],
)
def test_nothing_is_run_again_after_other_failures(error: BaseException) -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:
        model = session.models[0]
        model.answer = guilty(1, error=error)
        futures = together(session, *[(rows(value), {}) for value in range(4)])
        for future in futures:
            failure = future.exception(LIMIT)
            assert type(failure) is type(error) or failure.__cause__ is error  # type: ignore[union-attr]
        assert len(model.runs) == 2
        # Each has an exception of its own: tracebacks are not shared between threads.
        assert len({id(future.exception()) for future in futures}) == 4


@pytest.mark.parametrize("error", [MemoryError("no"), HostOutOfMemoryError("no")])
def test_want_of_memory_is_no_failure_of_the_model(error: MemoryError) -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:
        session.models[0].answer = guilty(1, error=error)
        futures = together(session, (rows(1), {}), (rows(2), {}))
        assert all(isinstance(future.exception(LIMIT), MemoryError) for future in futures)
        until(lambda: session.queue.running == 0)
        with pytest.raises(MemoryError):
            session.infer(rows(1))
        assert session.counters.snapshot().failures == (0, 0, 0, 3)


def test_a_model_that_may_not_run_twice_is_not() -> None:
    with HeldSession(HeldModel(), batching=Batching(), bisects=False) as session:
        session.models[0].answer = guilty(1)
        futures = together(session, *[(rows(value), {}) for value in range(4)])
        for future in futures:
            assert isinstance(future.exception(LIMIT), ModelExecutionError)
        assert len(session.models[0].runs) == 2


def test_the_half_of_a_failed_batch_that_nobody_wants_is_not_run() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching()) as session:
        session.submit(rows(-1))
        run = model.next_run()
        futures = [session.submit(rows(value)) for value in range(4)]
        run.release()
        run = model.next_run()
        for future in futures[2:]:
            assert future.cancel()
        run.release(ModelExecutionError("no", model="m"))
        run = model.next_run()
        assert run.values == [0, 1]
        model.release_all()
        assert futures[1].result(LIMIT)["y"][0, 0] == 2
        until(lambda: session.queue.running == 0)
        assert len(model.runs) == 3
        assert session.counters.snapshot().executions == 3


def test_the_second_half_of_a_failed_batch_waits_while_the_first_runs() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching()) as session:
        session.submit(rows(-1))
        run = model.next_run()
        futures = [session.submit(rows(value)) for value in range(2)]
        run.release()
        model.next_run().release(ModelExecutionError("no", model="m"))
        run = model.next_run()
        began = time.perf_counter_ns()
        until(lambda: time.perf_counter_ns() > began + 200_000_000)
        run.release()
        model.next_run().release()
        timing = futures[1].result(LIMIT).timing
        assert timing.queue_ns >= 200_000_000 > timing.compute_input_ns


def test_an_arrival_that_is_served_first_while_the_policy_decides_joins_nothing_it_does_not_fit() -> None:
    model = HeldModel(held=True)
    batching = Batching(priority_levels=2, default_priority_level=2)
    with HeldSession(model, batching=batching, dims=(-1,)) as session:
        session.submit(rows(-1))
        run = model.next_run()
        futures = [session.submit(rows(value)) for value in range(3)]
        early: list[InferFuture] = []

        class Interrupted:
            """Rules that are read while, as it were, another thread queues something: deciding is plain Python."""

            max_rows, preferred, gears, row_gears, row_costs = 8, (8,), (), (), ()

            @property
            def delay(self) -> int:
                if not early:
                    early.append(session.submit(rows(9, width=300), priority=1))
                return 0

        session.queue.set_rules(Interrupted())
        run.release()
        assert model.next_run().inputs["x"].shape == (1, 300)
        model.release_all()
        assert early[0].result(LIMIT)["y"].shape == (1, 300)
        for value, future in enumerate(futures):
            np.testing.assert_array_equal(future.result(LIMIT)["y"], np.full((1, 4), 2 * value))


def owner(array: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


@pytest.mark.parametrize(("width", "views"), [(1, False), (1024, False), (1025, True)])
def test_small_rows_are_copied_and_keep_no_batch_alive(width: int, views: bool) -> None:
    with HeldSession(HeldModel(), batching=Batching(), dims=(width,)) as session:
        futures = together(session, *[(rows(value, width=width), {}) for value in range(8)], width=width)
        arrays = [future.result(LIMIT)["y"] for future in futures]
        owners = {id(owner(array)) for array in arrays}
        assert len(owners) == (1 if views else 8)
        assert all(array.flags.writeable and array.flags.c_contiguous for array in arrays)


@pytest.mark.parametrize("width", [4, 1024, 2000])
def test_kept_results_hold_at_most_twice_their_own_bytes(width: int) -> None:
    with HeldSession(HeldModel(), batching=Batching(), dims=(width,)) as session:
        futures = [session.submit(rows(value, width=width), outputs=["y"]) for value in range(1000)]
        arrays = [future.result(LIMIT)["y"] for future in futures]
        held = {id(owner(array)): owner(array).nbytes for array in arrays}
        assert sum(held.values()) <= 2 * sum(array.nbytes for array in arrays)
        assert [array[0, 0] for array in arrays] == [2 * value for value in range(1000)]


def test_a_request_that_is_wrong_fails_at_its_call_and_alone() -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:
        for wrong in (rows(1, 9), rows(1, width=5), {"q": 1}, {"x": np.zeros((1, 4), np.float64)}):
            for call in (session.infer, session.submit):
                with pytest.raises(InvalidInputError):
                    call(wrong)
        assert session.queue.count == 0
        assert not session.models[0].runs
        assert session.counters.snapshot().failures == (0, 0, 0, 8)
