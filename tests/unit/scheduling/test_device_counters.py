"""A model on several devices: each batch and each request counts where it ran."""

from __future__ import annotations

import pytest
from held_model import LIMIT, HeldModel, HeldSession, rows, until

from ascend_infer import Batching
from ascend_infer._native import ModelCounters
from ascend_infer.errors import ModelExecutionError


def on(device: str) -> HeldModel:
    model = HeldModel(held=True)
    model.device = device
    return model


@pytest.mark.parametrize("batching", [None, Batching()])
def test_what_ran_counts_on_its_device_and_the_rest_on_the_first(batching: Batching | None) -> None:
    models = [on("npu:0"), on("npu:1")]
    counters = {"npu:0": ModelCounters(), "npu:1": ModelCounters()}
    with HeldSession(*models, batching=batching, counters=counters) as session:
        futures = [session.submit(rows(0))]
        until(lambda: sum(len(model.runs) for model in models) == 1)
        futures.append(session.submit(rows(1)))
        runs = {model.device: model.next_run() for model in models}
        unsent = session.submit(rows(2))
        assert [counted.pending for counted in counters.values()] == [1, 0]
        assert unsent.cancel()
        runs["npu:1"].release(ModelExecutionError("no", model="m"))
        runs["npu:0"].release()
        assert sorted(future.exception(LIMIT) is None for future in futures) == [False, True]
        until(lambda: session.queue.running == 0)
        first, second = (counted.snapshot() for counted in counters.values())
        assert (first.executions, first.successes, first.failures) == (1, 1, (0, 1, 0, 0))
        assert (second.executions, second.successes, second.failures) == (1, 0, (0, 0, 1, 0))
        assert first.sums_ns[0] > 0
        assert second.sums_ns[0] == 0


def test_the_halves_of_a_batch_and_callers_own_runs_count_there_too() -> None:
    counters = {"npu:0": ModelCounters(), "npu:1": ModelCounters()}
    models = [on("npu:0"), on("npu:1")]
    with HeldSession(*models, batching=Batching(), counters=counters) as session:
        blocks = session.submit(rows(-1))
        until(lambda: sum(len(model.runs) for model in models) == 1)
        busy = next(model for model in models if model.runs)
        session.submit(rows(-2))
        free = next(model for model in models if model is not busy)
        first = free.next_run()
        futures = [session.submit(rows(value)) for value in range(2)]
        first.release()
        free.next_run().release(ModelExecutionError("no", model="m"))
        for _ in futures:
            free.next_run().release()
        free.held = False
        assert [future.result(LIMIT)["y"][0, 0] for future in futures] == [0, 2]
        assert session.infer(rows(7))["y"][0, 0] == 14
        assert counters[free.device].snapshot().successes == 4
        assert counters[free.device].snapshot().executions == 5
        assert counters[busy.device].snapshot().executions == 0
        busy.release_all()
        assert blocks.result(LIMIT)["y"][0, 0] == -2
