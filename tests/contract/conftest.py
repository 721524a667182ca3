"""The backends that the contract is held to; a new one gets an entry in BACKENDS."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx_models as made
import onnx_ways
import pytest

from ascend_infer import backends
from ascend_infer.backends.base import BackendOptions, DeviceTarget, LoadedModel, LoadRequest
from ascend_infer.types import Gear


@dataclass(frozen=True)
class Candidate:
    """A backend under the contract.

    Attributes
    ----------
    name : str
    needs : str
        The package without which it cannot be tested here.
    compiled : {"", "dynamic", "gears"}
        How its .om files take batches of different sizes; empty for a backend that runs .onnx files.
    can_stop : bool
        The runtime can end a batch that runs.
    interface : {"", "C", "Python"}
        Of onnxruntime: which of the two ways.
    """

    name: str
    needs: str
    compiled: str = ""
    can_stop: bool = True
    interface: str = ""


BACKENDS = {
    "onnx": Candidate("onnx", "onnxruntime", interface="C"),
    "onnx, python module": Candidate("onnx", "onnxruntime", interface="Python"),
    "acl, dynamic shapes": Candidate("acl", "onnxruntime", "dynamic", can_stop=False),
    "acl, batch gears": Candidate("acl", "onnxruntime", "gears", can_stop=False),
    "pyacl, dynamic shapes": Candidate("pyacl", "onnxruntime", "dynamic", can_stop=False),
    "pyacl, batch gears": Candidate("pyacl", "onnxruntime", "gears", can_stop=False),
}

Load = Callable[..., LoadedModel]


def compile_for(how: str, source: Path) -> Path:
    """Compile a model for the simulator: open batches become gears where the batch alone is open."""
    from ascend_infer import onnx_file
    from ascend_infer.simulator import compile_model

    target = source.with_suffix(".om")
    shapes = [tensor.shape for tensor in onnx_file.read(source).spec.inputs]
    batches = all(shape[:1] == (-1,) and -1 not in shape[1:] and len(shape) > 1 for shape in shapes)
    if how == "gears" and batches:
        compile_model(source, target, gears=[Gear("batch", (size,)) for size in (1, 2, 4)])
    else:
        compile_model(source, target, dynamic=True)
    return target


@pytest.fixture(params=BACKENDS)
def candidate(request: pytest.FixtureRequest) -> Candidate:
    found = BACKENDS[request.param]
    # Not imported here: that is the backends' business, who keep its telemetry off.
    if importlib.util.find_spec(found.needs) is None:
        pytest.skip(f"{found.needs} is not installed")
    return found


@pytest.fixture
def target(candidate: Candidate) -> Iterator[DeviceTarget]:
    """Where its models run; the simulator is checked for what a card would have punished."""
    if not candidate.compiled:
        yield DeviceTarget()
        return
    from ascend_infer.simulator import Simulator

    with Simulator() as simulator:
        yield DeviceTarget("sim", 0, (os.fspath(simulator.library),))
        stats = simulator.stats()
        assert stats.violations == {}
        assert simulator.live_handles() == []


@pytest.fixture
def load(
    candidate: Candidate, target: DeviceTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Load]:
    """Load an ONNX model on one backend; closed after the test."""
    loaded: list[LoadedModel] = []
    if candidate.interface:
        onnx_ways.take(candidate.interface, monkeypatch)

    def load_model(model: onnx.ModelProto, **options: Any) -> LoadedModel:
        path = made.write(model, tmp_path / f"{len(loaded)}.onnx")
        if candidate.compiled:
            path = compile_for(candidate.compiled, path)
        request = LoadRequest("net", path, BackendOptions(**options), target)
        loaded.append(backends.create(candidate.name).load(request))
        assert loaded[-1].details.get("interface", "") == candidate.interface
        return loaded[-1]

    yield load_model
    for model in loaded:
        model.close()
