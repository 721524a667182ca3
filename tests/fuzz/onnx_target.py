"""The description of .onnx files."""

from __future__ import annotations

from places import written

from ascend_infer.errors import ModelFileError
from ascend_infer.onnx_file import reader
from ascend_infer.onnx_file.weight_precision import rounded_weights, weight_types

__all__ = ["feed"]


def feed(data: bytes) -> None:
    with written(data, ".onnx") as path:
        for read in (reader.read, weight_types, lambda path: rounded_weights(path, "float16")):
            try:
                repr(read(path))
            except ModelFileError as error:
                str(error)
