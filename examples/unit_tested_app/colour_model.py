"""The model: it scores a photo's mean colour. Small enough to be written down, so that nothing is downloaded.

python colour_model.py            writes model_repository/colours/{config.pbtxt, labels.txt, 1/model.onnx}
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LABELS = ("red", "green", "blue", "dark")
SIZE = 32

CONFIG = f"""\
name: "colours"
max_batch_size: 8
input [ {{ name: "photo" data_type: TYPE_FP32 dims: [ 3, {SIZE}, {SIZE} ] }} ]
output [ {{ name: "scores" data_type: TYPE_FP32 dims: [ {len(LABELS)} ] label_filename: "labels.txt" }} ]
"""


def build() -> onnx.ModelProto:
    """Return photo (n, 3, 32, 32) in 0..1 -> scores (n, 4): how red, green, blue and dark its mean colour is."""
    # A colour counts as far as it exceeds the other two by a fifth; dark is what lies below a fifth.
    one, half = 20.0, -10.0
    weights = [[one, half, half, -one / 3], [half, one, half, -one / 3], [half, half, one, -one / 3]]
    parts = {"weights": weights, "bias": [-4.0, -4.0, -4.0, 4.0]}
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["photo"], ["mean"], axes=[2, 3], keepdims=0),
            helper.make_node("Gemm", ["mean", "weights", "bias"], ["logits"]),
            helper.make_node("Sigmoid", ["logits"], ["scores"]),
        ],
        "colours",
        [helper.make_tensor_value_info("photo", TensorProto.FLOAT, ["n", 3, SIZE, SIZE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", len(LABELS)])],
        [numpy_helper.from_array(np.array(part, np.float32), name) for name, part in parts.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def write(repository: Path, versions: tuple[int, ...] = (1,)) -> Path:
    """Write the model directory; returns its path."""
    folder = repository / "colours"
    for version in versions:
        (folder / str(version)).mkdir(parents=True, exist_ok=True)
        onnx.save(build(), folder / str(version) / "model.onnx")
    (folder / "config.pbtxt").write_text(CONFIG, encoding="utf-8")
    (folder / "labels.txt").write_text("\n".join(LABELS) + "\n", encoding="utf-8")
    return folder


if __name__ == "__main__":
    print(write(Path(sys.argv[1] if len(sys.argv) > 1 else "model_repository")))
