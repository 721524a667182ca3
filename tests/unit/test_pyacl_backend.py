"""The backend on pyACL's names: the numbers of the acl backend, and manners of its own."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest

from ascend_infer import backends
from ascend_infer.backends.base import BackendOptions, DeviceTarget, LoadRequest
from ascend_infer.backends.pyacl import module_for
from ascend_infer.compat.acl import open_face
from ascend_infer.errors import (
    AclError,
    ClosedError,
    DeviceOutOfMemoryError,
    InvalidInputError,
    ModelExecutionError,
    ModelLoadError,
    NoGearError,
)
from ascend_infer.simulator import Simulator, SimulatorOptions
from ascend_infer.types import Gear


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(call_log=True)) as running:
        yield running
        acl.nothing_left(running)


def load(path: Path, simulator: Simulator, **options: Any) -> Any:
    target = DeviceTarget("sim", 0, (simulator.library,))
    return backends.create("pyacl").load(LoadRequest("net", path, BackendOptions(**options), target))


@pytest.mark.parametrize(
    ("dims", "gears", "shapes"),
    [
        ((2, 4), [], [(2, 4)]),
        (("n", 4), acl.batch_gears(1, 2, 4), [(1, 4), (3, 4), (4, 4), (11, 4)]),
        ((1, 1, "h", "w"), [Gear("hw", (2, 3)), Gear("hw", (4, 6))], [(1, 1, 2, 3), (1, 1, 4, 6)]),
        (("n", "m"), [Gear("dims", (2, 3)), Gear("dims", (4, 6))], [(2, 3), (4, 6), (2, 3)]),
        (("n", "m"), None, [(2, 3), (5, 1), (1, 7)]),
    ],
    ids=["static", "batch", "hw", "dims", "any shape"],
)
def test_both_backends_give_the_same(
    simulator: Simulator, tmp_path: Path, dims: Any, gears: Any, shapes: list[tuple[int, ...]]
) -> None:
    how: dict[str, Any] = {"dynamic": True} if gears is None else {"gears": gears}
    path = acl.compiled(tmp_path, made.scale(2.0, dims), **how)
    ours, theirs = acl.load(path, simulator), load(path, simulator)
    assert theirs.spec == ours.spec
    for shape in shapes:
        given = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        [expected] = ours.executables()[0].execute({"x": given}, ["y"])
        [got] = theirs.executables()[0].execute({"x": given}, ["y"])
        assert np.array_equal(got, expected)
    ours.close()
    theirs.close()


def test_the_callers_context_stays(simulator: Simulator, tmp_path: Path) -> None:
    face: Any = open_face("sim")
    path = acl.compiled(tmp_path, made.scale(2.0), gears=acl.batch_gears(1, 2))
    assert face.init() == 0
    assert face.rt.set_device(0) == 0
    own, _ = face.rt.create_context(0)
    model = load(path, simulator)
    assert face.rt.get_context() == (own, 0)
    model.executables()[0].execute({"x": np.ones((1, 4), np.float32)}, ["y"])
    assert face.rt.get_context() == (own, 0)
    model.close()
    assert face.rt.get_context() == (own, 0)
    assert [face.rt.destroy_context(own), face.rt.reset_device(0), face.finalize()] == [0, 0, 0]


def test_wrong_requests(simulator: Simulator, tmp_path: Path) -> None:
    model = load(acl.compiled(tmp_path, made.add_sub(), gears=acl.batch_gears(1, 2)), simulator)
    [run] = model.executables()
    one = np.ones((1, 4), np.float32)
    with pytest.raises(InvalidInputError, match="'B' is missing"):
        run.execute({"A": one}, ["S"])
    with pytest.raises(InvalidInputError, match="'T'"):
        run.execute({"A": one, "B": one}, ["T"])
    with pytest.raises(NoGearError):
        run.execute({"A": one[:, :3], "B": one[:, :3]}, ["S"])
    model.close()
    with pytest.raises(ClosedError):
        run.execute({"A": one, "B": one}, ["S"])


def test_the_cpu_is_refused(tmp_path: Path, simulator: Simulator) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (2, 4)))
    with pytest.raises(ModelLoadError, match="not on device 'cpu'"):
        backends.create("pyacl").load(LoadRequest("net", path))


@pytest.mark.parametrize(
    "how", [{"dynamic": True}, {"gears": acl.batch_gears(1, 2)}], ids=["dynamic", "gears"]
)
def test_every_call_that_fails_leaves_nothing(
    simulator: Simulator, tmp_path: Path, how: dict[str, Any]
) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0), **how)
    given = np.ones((2, 4), np.float32)

    def work() -> None:
        model = load(path, simulator)
        try:
            [got] = model.executables()[0].execute({"x": given}, ["y"])
            assert np.array_equal(got, given * 2)
        finally:
            model.close()

    work()
    before = simulator.stats().calls
    work()
    used = {name: count - before.get(name, 0) for name, count in simulator.stats().calls.items()}
    failing = [
        "aclmdlLoadFromFile", "aclmdlGetDesc", "aclrtMalloc", "aclrtMemcpy", "aclmdlExecute", "aclrtSetDevice",
        "aclmdlSetDatasetTensorDesc", "aclUpdateDataBuffer", "aclmdlSetDynamicBatchSize", "aclmdlGetCurOutputDims",
    ]  # fmt: skip
    for name in failing:
        for nth in sorted({1, used.get(name, 0)} - {0} if used.get(name) else ()):
            simulator.set_faults(f"{name}@{simulator.stats().calls.get(name, 0) + nth}=207001")
            with pytest.raises((AclError, ModelExecutionError, DeviceOutOfMemoryError)):
                work()
            simulator.set_faults("")
            acl.nothing_left(simulator)
    work()


def test_canns_own_module_is_taken_on_a_card(monkeypatch: pytest.MonkeyPatch, simulator: Simulator) -> None:
    card = DeviceTarget("npu", 0, (simulator.library,))
    assert module_for(card).__name__ == "acl"
    assert module_for(card) is open_face("sim")
    there = types.ModuleType("acl")
    there.__spec__ = types.SimpleNamespace(name="acl")  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "acl", there)
    assert module_for(card) is there
    assert module_for(DeviceTarget("sim", 0, (simulator.library,))) is open_face("sim")
