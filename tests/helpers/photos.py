"""A few small photos as JPEG files, and a model that has something to say about them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper
from onnx_models import model_of, value, write
from PIL import Image
from real_models import real_file

CONFIG = """
name: "colours"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "images" data_type: TYPE_FP32 dims: [ 3, 16, 16 ] } ]
output [ { name: "prob" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" } ]
parameters { key: "preprocess" value { string_value: "unit" } }
"""


def colours_directory(root: Path, config: str = CONFIG) -> Path:
    """Write a model of a picture's mean colours; returns its directory."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["images"], ["means"]),
        helper.make_node("Flatten", ["means"], ["prob"]),
    ]
    tensors = [
        value("images", TensorProto.FLOAT, ["n", 3, 16, 16]),
        value("prob", TensorProto.FLOAT, ["n", 3]),
    ]
    folder = root / "colours"
    write(model_of(nodes, tensors[:1], tensors[1:]), folder / "1" / "model.onnx")
    (folder / "config.pbtxt").write_text(config)
    (folder / "labels.txt").write_text("red\ngreen\nblue\n")
    return folder


def photo_folder(root: Path, count: int, size: tuple[int, int] = (64, 48)) -> Path:
    """Write crops of real photos as JPEG files; returns their folder."""
    folder = root / "photos"
    folder.mkdir()
    originals = [Image.open(real_file(name)).convert("RGB") for name in ("coffee.png", "astronaut.png")]
    draw = np.random.default_rng(5)
    for number in range(count):
        photo = originals[number % 2]
        left, top = (int(draw.integers(0, side // 2)) for side in photo.size)
        cut = photo.crop((left, top, left + photo.width // 2, top + photo.height // 2))
        cut.resize(size).save(folder / f"{number:04d}.jpg", quality=88)
    return folder
