"""What metrics show of a model on the simulated card: its device, its pools, its memory."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx_models as made
import pytest
from metric_pages import page, parsed

import ascend_infer as ai
from ascend_infer.metrics.readings import device_readers
from ascend_infer.metrics.statistics import memory_usage
from ascend_infer.simulator import Simulator, SimulatorOptions

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

CONFIG = """
platform: "ge"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { count: 2 kind: KIND_GPU gpus: [ 0 ] } ]
metric_tags { key: "team" value: "vision" }
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    with Simulator(SimulatorOptions(hbm_bytes=64 << 20)) as simulator:
        yield simulator
        gc.collect()
        assert simulator.stats().violations == {}
        assert simulator.live_handles() == []


def test_a_model_on_a_card(machine: Simulator, tmp_path: Path) -> None:
    folder = made.model_directory(tmp_path, "scale", made.scale(2.0), CONFIG)
    shown = page(tmp_path / "proc")
    with ai.Session(folder, device="sim") as session:
        model = session._opened().model
        readers = device_readers(model)
        assert list(readers) == ["sim:0"]
        with shown.registry.register(
            session.name, session.version, config=session.config, device=session.device, devices=readers
        ):
            kept = session.infer({"x": np.ones((8, 4), np.float32)})  # its output lies in pinned memory
            found = parsed(shown.text())
            card = (("gpu_uuid", "sim:0"),)
            labels = (("_team", "vision"), *card, ("model", "scale"), ("version", "1"))
            assert found["nv_inference_count", labels] == 0
            assert found["nv_gpu_memory_total_bytes", card] == 64 << 20
            assert 0 < found["nv_gpu_memory_used_bytes", card] <= 64 << 20
            assert 0 <= found["nv_gpu_utilization", card] <= 1
            assert ("nv_gpu_power_usage", card) not in found
            pool = session.memory_pool
            assert pool is not None
            of_card = (("device", "sim:0"), ("pool", "device"))
            assert found["ascend_memory_pool_active_bytes", of_card] == pool.stats().active_bytes
            owners = {
                dict(key)["owner"]: value
                for (name, key), value in found.items()
                if name == "ascend_memory_pool_owner_bytes" and ("pool", "device") in key
            }
            assert {"slots"} <= set(owners) <= {"weights", "workspace", "slots"}
            assert sum(owners.values()) == pool.stats().active_bytes
            assert found["nv_pinned_memory_pool_used_bytes", ()] > 0
            used = memory_usage("scale", {name: read() for name, read in readers.items()})
            assert [(use.type, use.id) for use in used] == [("GPU", 0), ("CPU_PINNED", 0)]
            assert used[0].byte_size == pool.stats().active_bytes
            del kept
        assert "nv_gpu_" not in shown.text()
