"""Model directories that multiply, for whoever needs just any model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_models as made

ONE = np.ones((1, 4), np.float32)
CONFIG = """
name: "scale"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" } ]
"""
#: Of a model that is compiled for a card.
CARD_CONFIG = """
platform: "ge"
max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""


def scale_directory(root: Path) -> Path:
    """Write versions 1 and 2 and labels; returns the model directory."""
    folder = root / "scale"
    for version in (1, 2):
        made.write(made.scale(version), folder / str(version) / "model.onnx")
    (folder / "config.pbtxt").write_text(CONFIG)
    (folder / "labels.txt").write_text("ant\nbee\ncat\ndog\n")
    return folder


def card_scale(root: Path) -> Path:
    """Write a model for a card, which doubles; returns the model directory."""
    return made.model_directory(root, "scale", made.scale(2.0), CARD_CONFIG)
