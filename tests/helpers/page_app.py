"""The application that docs/testing.md tests: `my_app.py`, its model, its photo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_models import model_of, value, write
from PIL import Image

CODE = """
import ascend_infer as ai


class Tagger:
    def __init__(self, model):
        self._session = ai.Session(model)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._session.close()

    def tag(self, photo):
        image = ai.image.prepare(photo, "unit", size=(32, 32))
        best = self._session.infer(image).top_k(k=1)[0][0]
        return [best.label]
"""

#: So many rows that they do not fit into a card of 64 MiB.
CONFIG = """
name: "tagger"
max_batch_size: 8192
input [ { name: "photo" data_type: TYPE_FP32 dims: [ 3, 32, 32 ] } ]
output [ { name: "scores" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" } ]
"""


def colours() -> onnx.ModelProto:
    """Return photo (n, 3, 32, 32) -> scores (n, 4): its mean red, green and blue, and nothing."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["photo"], ["means"]),
        helper.make_node("Flatten", ["means"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["scores"]),
    ]
    photo = value("photo", TensorProto.FLOAT, ["n", 3, 32, 32])
    scores = value("scores", TensorProto.FLOAT, ["n", 4])
    return model_of(nodes, [photo], [scores], {"weights": np.eye(3, 4, dtype=np.float32)})


def furnish(place: Path) -> None:
    folder = place / "model_repository" / "tagger"
    write(colours(), folder / "1" / "model.onnx")
    write(colours(), place / "tagger.onnx")
    (folder / "config.pbtxt").write_text(CONFIG)
    (folder / "labels.txt").write_text("red\ngreen\nblue\nnothing\n")
    (place / "my_app.py").write_text(CODE)
    Image.new("RGB", (64, 48), (220, 20, 30)).save(place / "red.png")
