"""Scoring on simulated cards: compiled sizes, padding, several cards, a fault in the middle."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx_models as made
import pytest

import ascend_infer as ai
from ascend_infer.errors import AclError, InvalidOptionError
from ascend_infer.scoring import score
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)
if importlib.util.find_spec("ascend_infer._native") is None:
    pytest.skip("the compiled parts are not built", allow_module_level=True)

CONFIG = """
platform: "ge"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""
ROWS = np.arange(844, dtype=np.float32).reshape(211, 4)


@pytest.fixture
def scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    np.save(tmp_path / "x.npy", ROWS)
    return made.model_directory(tmp_path, "scale", made.scale(2.0), CONFIG)


@pytest.fixture
def cards() -> Iterator[Simulator]:
    """Two cards that must not have been misused, and on which nothing stays."""
    step = TimeModel(compute_fixed_us=2000)
    with Simulator(SimulatorOptions(devices=2, time=step, virtual_time=True)) as simulator:
        yield simulator
        gc.collect()
        assert simulator.stats().violations == {}
        assert simulator.live_handles() == []


def values(path: Path) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    lines = path.read_text().splitlines()[1:]
    return np.array([line.split(",")[1:5] for line in lines], np.float32)


def test_batches_are_filled_up_to_one_compiled_size(cards: Simulator, scale: Path, tmp_path: Path) -> None:
    with ai.Session(scale, device="sim") as session:
        done = session.score(tmp_path / "x.npy", out=tmp_path / "y.csv", batch=8)
        assert done.runs == 27
        assert done.padding_waste == pytest.approx(1 - 211 / 216)
        odd = session.score(tmp_path / "x.npy", out=tmp_path / "z.csv", batch=5)
        assert odd.padding_waste == pytest.approx(1 - 211 / (43 * 8))
    assert np.array_equal(values(tmp_path / "y.csv"), ROWS * 2)
    assert (tmp_path / "z.csv").read_bytes() == (tmp_path / "y.csv").read_bytes()
    assert done.devices[0].lanes == 2  # an instance of two slots
    assert done.threads == 0


def test_auto_takes_a_compiled_size(cards: Simulator, scale: Path, tmp_path: Path) -> None:
    with ai.Session(scale, device="sim") as session:
        done = session.score(tmp_path / "x.npy", out=tmp_path / "y.csv")
    assert done.batch in (1, 2, 4, 8)
    assert done.batch_reason.startswith("measured, rows/s by batch 1: ")


def test_cards_share_the_rows(cards: Simulator, scale: Path, tmp_path: Path) -> None:
    with ai.Session(scale, device="sim:0") as one, ai.Session(scale, device="sim:1") as two:
        done = score([one, two], tmp_path / "x.npy", out=tmp_path / "y.csv", batch=1)
        assert [item.device for item in done.devices] == ["sim:0", "sim:1"]
        assert all(item.busy_seconds > 0 for item in done.devices)
        with (
            ai.Session(scale, device="cpu") as host,
            pytest.raises(InvalidOptionError, match="another on cpu"),
        ):
            score([one, host], tmp_path / "x.npy", out=tmp_path / "z.csv")
    assert np.array_equal(values(tmp_path / "y.csv"), ROWS * 2)


def test_one_session_on_several_cards(cards: Simulator, scale: Path, tmp_path: Path) -> None:
    config = (scale / "config.pbtxt").read_text()
    group = "instance_group [ { count: 1 kind: KIND_GPU gpus: [ 0, 1 ] } ]"
    other = made.model_directory(tmp_path / "other", "scale", made.scale(2.0), config + group)
    with ai.Session(scale, device="sim:0") as one:
        one.score(tmp_path / "x.npy", out=tmp_path / "one.csv", batch=1)
    with ai.Session(other, device="sim") as both:
        assert [(item.device, item.slots) for item in both.instances] == [("sim:0", 2), ("sim:1", 2)]
        done = both.score(tmp_path / "x.npy", out=tmp_path / "two.csv", batch=1)
        assert (
            both.score(tmp_path / "x.npy", out=lambda row: None).rows == 211
        )  # batch and workers as they come
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    assert done.instances == 2
    assert [(item.device, item.lanes) for item in done.devices] == [("sim:0", 2), ("sim:1", 2)]
    assert all(0 < item.busy_seconds <= done.seconds for item in done.devices)
    assert "sim:0 busy" in str(done)
    assert "sim:1 busy" in str(done)


def test_a_failing_card_ends_the_run_and_not_its_rows(cards: Simulator, scale: Path, tmp_path: Path) -> None:
    out = tmp_path / "y.csv"
    layout = {"batch": 1, "part_rows": 10}
    with ai.Session(scale, device="sim") as session:
        whole = tmp_path / "whole.csv"
        session.score(tmp_path / "x.npy", out=whole, **layout)
        calls = cards.stats().calls["aclmdlExecuteAsync"]
        cards.set_faults(f"aclmdlExecuteAsync@{calls + 100}=507018")
        with pytest.raises(AclError, match="507018"):
            session.score(tmp_path / "x.npy", out=out, **layout)
        assert not out.exists()
        assert list(tmp_path.glob("y.csv.parts/part-*.json"))
    cards.set_faults("")
    with ai.Session(scale, device="sim") as session:
        done = session.score(tmp_path / "x.npy", out=out, **layout)
    assert 0 < done.resumed_rows < 211
    assert out.read_bytes() == whole.read_bytes()
