"""Simulated machines that come and go, and sessions that were opened on another one."""

from __future__ import annotations

import gc
import importlib.util
from pathlib import Path

import numpy as np
import onnx_models as made
import pytest

import ascend_infer as ai
from ascend_infer.errors import AscendInferError
from ascend_infer.simulator import Simulator, SimulatorOptions

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

#: So much that the result of a run lies in pinned memory of the machine.
WIDE = np.ones((1, 1 << 16), np.float32)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    return made.write(made.scale(2.0, (1, 1 << 16)), tmp_path / "scale.onnx")


def total(model: Path, device: str) -> float:
    with ai.Session(model, device=device) as session:
        return float(session.infer(WIDE)["y"].sum())


def test_a_simulator_does_not_begin_under_an_open_session(model: Path) -> None:
    with ai.Session(model, device="sim") as session:
        before = session.infer(WIDE)["y"].sum()
        with pytest.raises(RuntimeError, match="sim:0 of the machine without options is in use"):
            Simulator(SimulatorOptions(devices=2)).__enter__()
        assert session.infer(WIDE)["y"].sum() == before
    with Simulator(SimulatorOptions(devices=2)):
        assert total(model, "sim:1") == before
    assert total(model, "sim:0") == before


def test_a_session_that_outlives_its_machine_takes_nothing_along(model: Path) -> None:
    with Simulator(SimulatorOptions(devices=2)):
        session = ai.Session(model, device="sim:1")
        kept = session.infer(WIDE)["y"]
    with pytest.raises(AscendInferError):
        session.infer(WIDE)
    session.close()
    with Simulator(SimulatorOptions(devices=2)):
        assert total(model, "sim:1") == kept.sum()
    assert total(model, "sim:0") == kept.sum()
    del kept
    gc.collect()
    assert total(model, "sim:0") == 2 * WIDE.size
