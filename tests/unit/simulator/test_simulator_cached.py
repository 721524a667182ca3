"""Models compiled for the simulated card and kept: where they cannot be."""

from __future__ import annotations

import errno
import importlib.util
import os
from pathlib import Path

import onnx_models
import pytest
from acl_models import open_device
from onnx import TensorProto, helper

import ascend_infer as ai
from ascend_infer import backends
from ascend_infer.backends.base import BackendOptions, DeviceTarget, LoadRequest
from ascend_infer.config import ModelConfig
from ascend_infer.errors import AclError, ModelFileError, ModelLoadError
from ascend_infer.simulator import Simulator
from ascend_infer.simulator.cached import compile_cached
from ascend_infer.simulator.compiler import compile_model

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

BATCHED = ModelConfig(max_batch_size=4)


@pytest.fixture
def onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    return onnx_models.write(onnx_models.scale(2.0), tmp_path / "scale.onnx")


def test_a_full_disk_is_the_caches(onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)  # what the model's writer ends with
    with pytest.raises(
        ModelLoadError, match="No space left on device; name another folder in ASCEND_INFER_CACHE"
    ):
        compile_cached(onnx, BATCHED)


def test_a_model_that_is_none_is_its_own_trouble(onnx: Path) -> None:
    onnx.write_bytes(b"no model")
    with pytest.raises(ModelFileError, match=str(onnx)):
        compile_cached(onnx, BATCHED)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (TensorProto.STRING, r"text \(BYTES\)"),
        (TensorProto.FLOAT8E4M3FN, "FP8_E4M3FN"),
        (TensorProto.FLOAT8E5M2, "FP8_E5M2"),
        (TensorProto.COMPLEX64, "COMPLEX64"),
    ],
)
@pytest.mark.parametrize("role", ["input", "output"])
def test_types_that_the_card_does_not_compute_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str, role: str
) -> None:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    types = (code, TensorProto.FLOAT) if role == "input" else (TensorProto.FLOAT, code)
    model = onnx_models.model_of(
        [helper.make_node("Cast", ["x"], ["y"], to=types[1])],
        [onnx_models.value("x", types[0], ["n", 2])],
        [onnx_models.value("y", types[1], ["n", 2])],
        opset=19,
        ir_version=9,
    )
    path = onnx_models.write(model, tmp_path / "odd.onnx")
    name = "x" if role == "input" else "y"
    expected = rf"{role} '{name}' is {words}, .*BF16; run the model with device=\"cpu\""
    with pytest.raises(ModelLoadError, match=rf"model 'odd' .*{expected}"):
        ai.Session(path, device="sim")
    with pytest.raises(ModelLoadError, match=rf"odd\.onnx: {expected}"):
        compile_model(path, tmp_path / "odd.om")
    assert not (tmp_path / "odd.om").exists()


@pytest.mark.parametrize("role", ["input", "output"])
@pytest.mark.parametrize("backend", ["acl", "pyacl"])
def test_a_file_that_an_earlier_compiler_wrote_of_such_types_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, backend: str
) -> None:
    types = [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT]
    if role == "output":
        types.reverse()
    model = onnx_models.model_of(
        [helper.make_node("Cast", ["x"], ["y"], to=types[1])],
        [onnx_models.value("x", types[0], [2, 2])],
        [onnx_models.value("y", types[1], [2, 2])],
        opset=19,
        ir_version=9,
    )
    path = onnx_models.write(model, tmp_path / "odd.onnx")
    monkeypatch.setattr("ascend_infer.simulator.compiler.check_types", lambda *_: None)
    compile_model(path, tmp_path / "odd.om")
    name = "x" if role == "input" else "y"
    with Simulator() as simulator:
        target = DeviceTarget("sim", 0, (simulator.library,))
        request = LoadRequest("odd", tmp_path / "odd.om", BackendOptions(), target)
        loader = backends.create(backend)
        with pytest.raises(ModelFileError, match=rf"odd\.om: {role} '{name}' is FP8_E4M3FN, .* with device="):
            loader.load(request)
        with (
            open_device(simulator.library) as device,
            pytest.raises(AclError, match=f'{role} ".*{name}" is FP8_E4M3FN, which the simulator does not'),
        ):
            device.instance(tmp_path / "odd.om")
