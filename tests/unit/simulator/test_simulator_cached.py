"""Models compiled for the simulated card and kept: where they cannot be."""

from __future__ import annotations

import errno
import importlib.util
import os
from pathlib import Path

import onnx_models
import pytest

from ascend_infer.config import ModelConfig
from ascend_infer.errors import ModelFileError, ModelLoadError
from ascend_infer.simulator.cached import compile_cached

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
