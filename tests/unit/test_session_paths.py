from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from scale_model import CONFIG, ONE, scale_directory

import ascend_infer as ai
from ascend_infer.errors import (
    ConfigError,
    InvalidInputError,
    InvalidOptionError,
    ModelLoadError,
    ModelNotFoundError,
)

pytest.importorskip("onnxruntime")


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return scale_directory(tmp_path)


def test_a_version_that_is_not_there_is_named_with_those_that_are(scale: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="1, 2"):
        ai.Session(scale, version=3)


def test_without_a_configuration_the_limit_is_tritons_and_says_so(tmp_path: Path) -> None:
    folder = made.model_directory(tmp_path, "net", made.scale(3))
    with ai.Session(folder) as session:
        assert session.config.max_batch_size == 4
        with pytest.raises(InvalidInputError, match="Triton's default"):
            session.infer({"x": np.ones((5, 4), np.float32)})


@pytest.mark.parametrize("size", [0, 1, 2, 8])
def test_without_a_configuration_the_option_is_what_it_says(tmp_path: Path, size: int) -> None:
    folder = made.model_directory(tmp_path, "net", made.scale(3))
    with ai.Session(folder, max_batch_size=size) as session:
        assert session.config.max_batch_size == size
        assert session.infer({"x": np.ones((size or 9, 4), np.float32)})["y"].shape == (size or 9, 4)
        if size:
            with pytest.raises(InvalidInputError, match=f"max_batch_size {size}") as caught:
                session.infer({"x": np.ones((size + 1, 4), np.float32)})
            assert "states no max_batch_size" not in str(caught.value)


def test_a_bare_file_has_no_limit_and_no_version(tmp_path: Path) -> None:
    path = made.write(made.scale(3), tmp_path / "net.onnx")
    with ai.Session(path) as session:
        assert (session.name, session.version) == ("net", None)
        assert session.infer({"x": np.ones((100, 4), np.float32)})["y"].shape == (100, 4)
    with pytest.raises(ModelNotFoundError, match="no versions"):
        ai.Session(path, version=1)


@pytest.mark.parametrize("path", ["", "a\0b", 3, None, b"bytes"])
def test_a_path_is_a_path(path: Any) -> None:
    with pytest.raises(InvalidOptionError, match="path"):
        ai.Session(path)


@pytest.mark.parametrize(
    ("break_it", "error", "text"),
    [
        (lambda d: (d / "2/model.onnx").unlink(), ModelNotFoundError, "2/model.onnx is not there"),
        (
            lambda d: (d / "2/model.onnx").rename(d / "2/net.onnx"),
            ModelNotFoundError,
            "default_model_filename",
        ),
        (lambda d: (d / "2/model.onnx").write_bytes(b""), ModelLoadError, "empty"),
        (lambda d: (d / "labels.txt").unlink(), ConfigError, "labels.txt"),
        (lambda d: (d / "config.pbtxt").write_text("name: scale"), ConfigError, "quote"),
        (lambda d: (d / "config.pbtxt").write_text(CONFIG.replace("[ 4 ]", "[ 5 ]")), ConfigError, "5"),
        (
            lambda d: (d / "config.pbtxt").write_text(
                CONFIG.replace('platform: "onnxruntime_onnx"', 'backend: "python"')
            ),
            ModelLoadError,
            "python models do not run",
        ),
        (lambda d: (d / "2/model.onnx").rename(d / "2/model.om"), ModelLoadError, "no model.onnx beside it"),
    ],
)
def test_a_broken_directory_is_named(scale: Path, break_it: Any, error: type[Exception], text: str) -> None:
    if "model.om" in text or "no model.onnx" in text:
        (scale / "config.pbtxt").write_text('platform: "ge"')
    break_it(scale)
    with pytest.raises(error, match=text):
        ai.Session(scale)


def test_a_model_for_another_framework_runs_from_its_twin(scale: Path) -> None:
    (scale / "config.pbtxt").write_text(CONFIG.replace("onnxruntime_onnx", "tensorrt_plan"))
    with ai.Session(scale) as session:
        assert session.infer({"x": ONE})["y"].tolist() == [[2, 2, 2, 2]]


def test_what_a_path_may_lead_to(scale: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="give its directory"):
        ai.Session(scale / "config.pbtxt")
    (tmp_path / "net.om").write_bytes(b"IMOD")
    with pytest.raises(ModelLoadError, match="no model.onnx beside it"):
        ai.Session(tmp_path / "net.om")
    made.write(made.scale(5.0), tmp_path / "net.onnx")
    with ai.Session(tmp_path / "net.om") as session:
        assert session.infer({"x": ONE})["y"].tolist() == [[5, 5, 5, 5]]
    (scale / "2" / "model.onnx").unlink()
    with pytest.raises(ModelNotFoundError, match="folder is empty"):
        ai.Session(scale)
    (scale / "2" / "weights.bin").write_bytes(b"")
    with pytest.raises(ModelNotFoundError, match=r"holds weights\.bin"):
        ai.Session(scale)


def test_names_that_are_no_utf8(tmp_path: Path) -> None:

    folder = os.fsencode(tmp_path) + b"/bad\xff"
    os.mkdir(folder)
    place = Path(os.fsdecode(folder)) / "net.onnx"
    with ai.Session(made.write(made.scale(2.0), place)) as session:
        assert session.infer(ONE)["y"].tolist() == [[2] * 4]


def test_what_is_in_the_way_is_named(scale: Path, tmp_path: Path) -> None:
    (tmp_path / "link.onnx").symlink_to("nowhere")
    with pytest.raises(ModelNotFoundError, match="a link whose target is missing"):
        ai.Session(tmp_path / "link.onnx")
    (scale / "config.pbtxt").unlink()
    (scale / "config.pbtxt").mkdir()
    with pytest.raises(ConfigError, match="error: config.pbtxt is a directory") as caught:
        ai.Session(scale)
    assert "no path" not in str(caught.value)
