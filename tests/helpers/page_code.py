"""The Python of a page, and a folder in which it runs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import model_of, value, write
from PIL import Image

from ascend_infer import errors
from ascend_infer.simulator import library_path

CONFIG = """
name: "efficientnet_lite0"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "images" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]
output [ { name: "logits" data_type: TYPE_FP32 dims: [ 1000 ] label_filename: "labels.txt" } ]
"""


def blocks(page: Path) -> list[str]:
    """Return the page's Python in order, without programs for other libraries (they begin with ``# Before``)."""
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [code for code in found if not code.startswith("# Before")]


def needs_the_simulator(code: str) -> bool:
    return 'device="sim"' in code or "SimulatedNpu" in code


def run(page: Path, *, simulator: bool) -> dict[str, Any]:
    """Run a page's blocks one after the other, in one namespace, in the current folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for code in blocks(page):
        if simulator or not needs_the_simulator(code):
            exec(compile(code, str(page), "exec"), names)
    return names


def classifier(output: str) -> onnx.ModelProto:
    """Return a small model of EfficientNet-Lite0's input and classes: the mean colours, weighted."""
    weights = np.linspace(-1, 1, 3000, dtype=np.float32).reshape(3, 1000)
    nodes = [
        helper.make_node("GlobalAveragePool", ["images"], ["means"]),
        helper.make_node("Flatten", ["means"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], [output]),
    ]
    images = value("images", TensorProto.FLOAT, ["n", 3, 224, 224])
    return model_of(nodes, [images], [value(output, TensorProto.FLOAT, ["n", 1000])], {"weights": weights})


def furnish(place: Path, *, simulator: bool) -> None:
    """Write what the pages speak of: models, labels, photos."""
    folder = place / "model_repository" / "efficientnet_lite0"
    write(classifier("logits"), folder / "1" / "model.onnx")
    (folder / "config.pbtxt").write_text(CONFIG)
    (folder / "labels.txt").write_text("".join(f"class {index}\n" for index in range(1000)))
    write(classifier("logits"), place / "net.onnx")
    if simulator:
        from ascend_infer.simulator import compile_model

        source = write(classifier("scores"), place / "resnet50.onnx")
        compile_model(source, place / "resnet50.om", input_shapes={"images": (1, 3, 224, 224)})
    (place / "photos").mkdir()
    draw = np.random.default_rng(3)
    for name in ("photos/coffee.png", *(f"photos/{number:02}.jpg" for number in range(10))):
        pixels = draw.integers(0, 256, (48, 64, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((320, 240)).save(place / name)


def needs_a_simulated_card() -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    try:
        library_path()
    except errors.LibraryNotFoundError:
        pytest.skip("libascendcl_sim.so was not built")
