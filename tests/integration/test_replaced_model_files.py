"""Model files that are replaced, written over or removed under open sessions, and what is loaded after that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acl_models as acl
import numpy as np
import onnx
import onnx_models as made
import pytest
from held_model import until
from onnx import TensorProto, helper

import ascend_infer as ai
from ascend_infer import _native
from ascend_infer.errors import AclInternalError, ModelLoadError
from ascend_infer.simulator import Simulator, SimulatorOptions

pytest.importorskip("onnxruntime")

ONE = np.ones((1, 4), np.float32)
CHANGED = r"model\.om changed since the session was opened; open the session anew"


@pytest.fixture
def machine() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions()) as simulator:
        yield simulator
        assert simulator.live_handles() == []
        assert simulator.stats().violations == {}


def weighty(factor: float) -> onnx.ModelProto:
    """Make a model whose weights lie in a block of their own; ONE gives four times the factor."""
    return made.model_of(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [made.value("x", TensorProto.FLOAT, ("n", 4))],
        [made.value("y", TensorProto.FLOAT, ("n", 64))],
        {"w": np.full((4, 64), factor, np.float32)},
    )


def compiled(folder: Path, factor: float, name: str) -> Path:
    return acl.compiled(folder, weighty(factor), name, gears=acl.batch_gears(1, 2, 4))


def served(tmp_path: Path, instances: int) -> Path:
    """Write a model directory with an .om file; returns the file."""
    folder = tmp_path / "m"
    (folder / "1").mkdir(parents=True)
    (folder / "config.pbtxt").write_text(
        f"max_batch_size: 4 instance_group [{{ count: {instances} kind: KIND_GPU }}]"
    )
    return compiled(tmp_path, 1, "one").rename(folder / "1" / "model.om")


def answer(session: ai.Session) -> float:
    return float(session.infer(ONE)["y"][0, 0])


def fault_next_run(machine: Simulator) -> None:
    count = machine.stats().calls.get("aclmdlExecuteAsync", 0)
    machine.set_faults(f"aclmdlExecuteAsync@{count + 1}=async:507015")


def states(session: ai.Session) -> list[str]:
    return [instance.state for instance in session._opened().scheduler.instances]


def test_another_file_is_not_loaded_after_a_fault_and_the_rest_serves(
    machine: Simulator, tmp_path: Path
) -> None:
    file = served(tmp_path, 2)
    with ai.Session(file.parents[1], device="sim") as session:
        assert answer(session) == 4
        os.replace(compiled(tmp_path, 10, "ten"), file)
        fault_next_run(machine)
        with pytest.raises(AclInternalError):
            session.infer(ONE)
        until(lambda: sorted(states(session)) == ["READY", "UNAVAILABLE"])
        [reason] = [item.reason for item in session._opened().scheduler.instances if item.reason]
        assert reason.endswith("model.om changed since the session was opened; open the session anew")
        assert {answer(session) for _ in range(8)} == {4}
        with ai.Session(file.parents[1], device="sim") as anew:
            assert answer(anew) == 40
        assert {answer(session) for _ in range(8)} == {4}


@pytest.mark.parametrize(
    ("way", "told"), [("written over", CHANGED), ("removed", r"model\.om is gone since")]
)
def test_the_only_instance_says_why_it_does_not_serve(
    machine: Simulator, tmp_path: Path, way: str, told: str
) -> None:
    file = served(tmp_path, 1)
    with ai.Session(file.parents[1], device="sim") as session:
        assert answer(session) == 4
        if way == "removed":
            file.unlink()
        else:
            file.write_bytes(compiled(tmp_path, 10, "ten").read_bytes())
        fault_next_run(machine)
        with pytest.raises(AclInternalError):
            session.infer(ONE)
        for _ in range(2):
            with pytest.raises(ModelLoadError, match=told):
                session.infer(ONE)


def test_a_file_written_over_with_the_same_size_and_time_is_another_one(
    machine: Simulator, tmp_path: Path
) -> None:
    file, other = served(tmp_path, 1), compiled(tmp_path, 10, "ten")
    status = file.stat()
    assert status.st_size == other.stat().st_size
    with ai.Session(file, device="sim") as first:
        assert answer(first) == 4
        with open(file, "r+b") as opened:
            opened.write(other.read_bytes())
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        with ai.Session(file, device="sim") as second:
            assert (answer(second), answer(first)) == (40, 4)


def test_a_file_that_changes_while_it_is_loaded_is_refused(
    machine: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = served(tmp_path, 1), compiled(tmp_path, 10, "ten")
    load = _native.open_acl_instance

    def overtaken(*arguments: Any, **options: Any) -> Any:
        instance = load(*arguments, **options)
        os.replace(other, file)
        return instance

    monkeypatch.setattr(_native, "open_acl_instance", overtaken)
    with pytest.raises(ModelLoadError, match=CHANGED):
        ai.Session(file, device="sim")
