"""``perf`` against a simulated card whose model takes a known time."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import onnx_models as made
import pytest
from cli_run import Cli, cli

from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel

__all__ = ["cli"]

for _name in ("onnxruntime", "ascend_infer._native"):
    if importlib.util.find_spec(_name) is None:
        pytest.skip(f"{_name} is not there", allow_module_level=True)

CONFIG = """
platform: "ge"
max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    with Simulator(SimulatorOptions(time=TimeModel(compute_fixed_us=5000))):
        yield


def test_no_request_is_answered_before_the_model_has_run(cli: Cli, tmp_path: Path) -> None:
    folder = made.model_directory(tmp_path, "scale", made.scale(2.0), CONFIG)
    words = ("--concurrency-range", "1:3:2", "--request-count", "12", "-b", "4", "--json")
    done = cli("perf", folder, "--device", "sim", *words)
    assert done.code == 0, done
    assert done.json["device"] == "sim:0"
    for found in done.json["measurements"]:
        assert found["requests"] == 12
        assert found["latency_us"]["p50"] >= 5000
        assert found["server"]["infer_us"] >= 5000
        # One execution at a time, 5 ms each: at most 200 a second, of four rows.
        assert found["throughput"] <= 800
