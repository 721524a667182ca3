"""Batches of several requests on the simulated card: gathered once, in which size, cut where that costs less."""

from __future__ import annotations

import gc
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest

import ascend_infer as ai
from ascend_infer.backends.acl_executable import AclExecutable
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

CONFIG = """
platform: "ge"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""
HOUR = 3_600_000_000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def machine() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(call_log=True)) as simulator:
        yield simulator
        gc.collect()
        acl.nothing_left(simulator)


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return made.model_directory(tmp_path, "scale", made.scale(2.0), CONFIG)


def rows(count: int, start: float = 0) -> np.ndarray[Any, Any]:
    return np.arange(start, start + 4 * count, dtype=np.float32).reshape(count, 4)


def test_a_batch_is_gathered_once_and_copied_once_each_way(
    machine: Simulator, scale: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[Any] = []
    execute = AclExecutable.execute

    def watched(self: AclExecutable, inputs: Any, *rest: Any) -> Any:
        reached.append(inputs["x"])
        return execute(self, inputs, *rest)

    monkeypatch.setattr(AclExecutable, "execute", watched)
    batching = ai.Batching(preferred_batch_size=[5], max_queue_delay_microseconds=HOUR)
    with ai.Session(scale, device="sim", batching=batching) as session:
        given = [rows(1, i) for i in range(3)] + [rows(2, 9)]
        for _ in range(3):  # each of the slots, and its pinned memory
            [future.result() for future in [session.submit({"x": x}) for x in given]]
        before = machine.stats()
        mark = len(machine.call_log())
        results = [future.result() for future in [session.submit({"x": x}) for x in given]]
        calls = [line.split()[2] for line in machine.call_log()[mark:]]
        after = machine.stats()
        counted = session.statistics()["model_stats"][0]["batch_stats"]
    # The callers' own arrays came to the instance: nothing had been put together before.
    assert type(reached[-1]) is list
    assert [id(part) for part in reached[-1]] == [id(x) for x in given]
    assert calls.count("aclmdlExecuteAsync") == 1
    assert calls.count("aclrtMemcpyAsync") == 2
    assert not [name for name in calls if "Malloc" in name or "Free" in name]
    assert after.calls.get("aclrtMalloc") == before.calls.get("aclrtMalloc")
    for x, result in zip(given, results, strict=True):
        assert np.array_equal(result["y"], 2 * x)
        assert (result.timing.batch_rows, result.timing.padded_rows) == (5, 3)
        assert result.timing.gear == "batch 8"
        assert result.timing.compute_infer_ns > 0
    assert [batch["batch_size"] for batch in counted] == [5]


def test_results_say_which_size_they_ran_in_on_the_callers_thread_too(
    machine: Simulator, scale: Path
) -> None:
    padded, sizes = 0, {"batch 1": 1, "batch 2": 2, "batch 4": 4, "batch 8": 8}
    with ai.Session(scale, device="sim") as session:
        for _ in range(2):  # worked out, and known
            for count in (1, 3, 8):
                for result in (
                    session.infer({"x": rows(count)}),
                    session.infer({"x": rows(count)}, timeout=60),
                    session.submit({"x": rows(count)}).result(),
                ):
                    assert np.array_equal(result["y"], 2 * rows(count))
                    timing = result.timing
                    # Which of those that do is a matter of what they were measured to take.
                    assert timing.padded_rows == sizes[timing.gear] - count >= 0
                    assert timing.batch_rows == count
                    assert timing.total_ns >= timing.compute_infer_ns > 0
                    padded += timing.padded_rows
        snapshot = session._opened().accounts.snapshot()
    assert snapshot.padding_rows == padded
    assert snapshot.executed_rows == 2 * 3 * (1 + 3 + 8)


def test_one_compiled_size_has_no_gear_and_pads_all_the_same(machine: Simulator, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (8, 4)))
    with ai.Session(path, device="sim", max_batch_size=8) as session:
        for _ in range(2):
            timing = session.infer({"x": rows(5)}).timing
            assert (timing.gear, timing.padded_rows) == ("", 3)


def test_rows_above_the_largest_size_are_joined_and_split(machine: Simulator, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.add_sub(), gears=acl.batch_gears(1, 4))
    model = acl.load(path, machine, batched=True)
    [run] = model.executables()
    parts = [rows(2), rows(3, 50), rows(1, 90)]
    whole = np.concatenate(parts)
    for _ in range(2):
        total, difference = run.execute({"A": parts, "B": parts}, ["S", "D"])
        assert np.array_equal(total, 2 * whole)
        assert not difference.any()
    model.close()


def test_lists_whose_rows_differ_are_refused_before_anything_runs(machine: Simulator, tmp_path: Path) -> None:
    model = acl.load(acl.compiled(tmp_path, made.scale(2.0), gears=acl.batch_gears(4)), machine)
    [run] = model.executables()
    with pytest.raises(ai.errors.ModelExecutionError, match="do not run as one batch"):
        run.execute({"x": [rows(1), np.ones((1, 5), np.float32)]}, ["y"])
    assert "aclmdlExecuteAsync" not in machine.stats().calls
    model.close()


def test_large_rows_of_a_batch_are_shared_and_given_back(machine: Simulator, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, ("n", 2048)), gears=acl.batch_gears(2, 4))
    model = acl.load(path, machine)
    [run] = model.executables()
    part = np.ones((2, 2048), np.float32)
    kept = [run.execute({"x": [part, part * i]}, ["y"])[0] for i in range(40)]  # more than there are leases
    for i, got in enumerate(kept):
        assert np.array_equal(got[2:], part * 2 * i)
        assert got.flags.writeable
    assert type(kept[0].base).__name__ == "LeasedOutput"
    assert kept[-1].base is None
    del kept, got
    model.close()


@pytest.mark.parametrize(
    ("time", "sizes"),
    [
        (TimeModel(compute_item_us=20_000), [4, 4, 4, 4, 1]),
        (TimeModel(compute_fixed_us=150_000), [5, 5, 5, 5, 5]),
    ],
    ids=["cost grows with rows", "cost is the same"],
)
def test_batches_are_cut_where_that_costs_less(scale: Path, time: TimeModel, sizes: list[int]) -> None:
    with Simulator(SimulatorOptions(time=time)) as machine:
        with ai.Session(scale, device="sim", slots=1, batching=True) as session:
            for count in (1, 2, 4, 8):  # measured, alone
                for _ in range(2):
                    session.infer({"x": rows(count)})
            first = session.submit({"x": rows(8)})
            while not session._opened().scheduler.queue.running:
                os.sched_yield()
            futures = [session.submit({"x": rows(1, i)}) for i in range(5)]
            results = [future.result() for future in futures]
            first.result()
        assert [result.timing.batch_rows for result in results] == sizes
        for i, result in enumerate(results):
            assert np.array_equal(result["y"], 2 * rows(1, i))
        assert machine.stats().violations == {}
