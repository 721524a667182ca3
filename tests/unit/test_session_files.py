"""Sessions on directories whose files are pipes, links to nothing, or too large: refused at once, by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx_models import model_directory, scale

import ascend_infer as ai
from ascend_infer.errors import ModelFileError, ModelLoadError, ModelNotFoundError

pytest.importorskip("onnxruntime")

CONFIG = """
platform: "onnxruntime_onnx"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 4 }
output { name: "y" data_type: TYPE_FP32 dims: 4 }
"""
WARMUP = """
model_warmup { name: "w" batch_size: 1 inputs {
  key: "x" value { data_type: TYPE_FP32 dims: 4 input_data_file: "data" } } }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return model_directory(tmp_path, "doubling", scale(2.0), CONFIG)


@pytest.fixture
def data(model: Path) -> Path:
    (model / "config.pbtxt").write_text(CONFIG + WARMUP)
    (model / "warmup").mkdir()
    return model / "warmup" / "data"


def refused(model: Path, error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        ai.Session(model, device="cpu")
    return str(caught.value)


def test_a_pipe_as_the_model(model: Path) -> None:
    (model / "1" / "model.onnx").unlink()
    os.mkfifo(model / "1" / "model.onnx")
    assert "model.onnx: it is a pipe" in refused(model, ModelFileError)


def test_a_link_to_nothing_as_the_model(model: Path) -> None:
    (model / "1" / "model.onnx").unlink()
    (model / "1" / "model.onnx").symlink_to("gone.onnx")
    text = refused(model, ModelNotFoundError)
    assert "it is a link to gone.onnx, which is missing" in text
    assert "rename" not in text


@pytest.mark.parametrize("named", ["nosuchfile", ".", "model.plan", "a" * 300])
def test_a_named_file_that_is_not_there_is_not_replaced(model: Path, named: str) -> None:
    (model / "config.pbtxt").write_text(f'{CONFIG}default_model_filename: "{named}"')
    assert "model.onnx is: leave default_model_filename out" in refused(model, ModelNotFoundError)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "it is a pipe"),
        (os.mkdir, "it is a directory"),
        (lambda path: path.write_bytes(b"0" * 15), "15 bytes"),
        (
            lambda path: os.truncate(path, 40 << 30) if path.write_bytes(b"") == 0 else None,
            "expected 16 bytes",
        ),
    ],
)
def test_warm_up_data(model: Path, data: Path, make: Callable[[Path], object], words: str) -> None:
    make(data)
    text = refused(model, ModelLoadError)
    assert "warmup sample 'w'" in text
    assert words in text


def test_a_warm_up_that_no_memory_holds(tmp_path: Path) -> None:
    sample = WARMUP.replace("dims: 4", "dims: 4000000000000").replace(
        'input_data_file: "data"', "zero_data: true"
    )
    model = model_directory(
        tmp_path, "doubling", scale(2.0, ("n", "m")), CONFIG.replace("dims: 4", "dims: -1") + sample
    )
    assert "does not fit into memory" in refused(model, ModelLoadError)


@pytest.mark.parametrize(
    ("labels", "third"), [("a\nb\n", None), ("a\nb\nc\nd\n\n\n", "c"), ("a\nb\nc\nd\ne\n", "c")]
)
def test_labels_of_another_number_than_classes(model: Path, labels: str, third: str | None) -> None:
    named = CONFIG.replace('name: "y"', 'name: "y" label_filename: "labels.txt"')
    (model / "config.pbtxt").write_text(named)
    (model / "labels.txt").write_text(labels)
    with ai.Session(model, device="cpu") as session:
        result = session.infer({"x": np.array([[0, 1, 4, 3]], np.float32)})
    (row,) = result.top_k()
    assert isinstance(row, list)
    assert row[0].label == third
    assert result.labels("y") == labels.split("\n")[:-1]
