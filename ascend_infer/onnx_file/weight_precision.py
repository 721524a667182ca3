"""Which types a model's weights have, and a copy of it whose float32 weights are rounded to fewer bits."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, Literal

import numpy as np

from ascend_infer.onnx_file.reader import GRAPH_INITIALIZER, GRAPH_NODE, graph_field, open_onnx
from ascend_infer.types import DataType
from ascend_infer.wire import BYTES, VARINT, Buffer, Field, fields

__all__ = ["HalfPrecision", "rounded_weights", "weight_types"]

HalfPrecision = Literal["float16", "bfloat16"]

NODE_ATTRIBUTE, ATTRIBUTE_TENSOR = 5, 5
TENSOR_TYPE, TENSOR_FLOATS, TENSOR_RAW, TENSOR_EXTERNAL = 2, 4, 9, 13
ONNX_FLOAT = 1

Array = np.ndarray[Any, np.dtype[Any]]


def weight_types(path: str | os.PathLike[str]) -> Counter[DataType]:
    """Count the main graph's weights and constants by data type; types that are no tensor's are left out.

    Raises
    ------
    ModelFileError
    """
    found: Counter[DataType] = Counter()
    with open_onnx(path) as data:
        for tensor in _tensors(data):
            for part in fields(data, tensor.start, tensor.end):
                if part.number == TENSOR_TYPE and part.wire_type == VARINT:
                    try:
                        found[DataType.from_onnx(part.value)] += 1
                    except KeyError:
                        continue
    return found


def rounded_weights(path: str | os.PathLike[str], precision: HalfPrecision) -> bytes | None:
    """Copy a model with the main graph's float32 weights rounded to float16 or bfloat16, and still float32.

    Parameters
    ----------
    path : path-like
    precision : {"float16", "bfloat16"}
        To the nearest, ties to even; what float16 cannot hold becomes its largest number.

    Returns
    -------
    bytes or None
        The copy, of the same length; None where weights lie in other files, or there is nothing to round.

    Raises
    ------
    ModelFileError
    """
    with open_onnx(path) as data:
        copy = bytearray(data)
        changed = False
        for tensor in _tensors(data):
            kind, numbers, external = _facts(data, tensor)
            if external:
                return None
            if kind != ONNX_FLOAT:
                continue
            for part in numbers:
                values = np.frombuffer(copy, "<f4", (part.end - part.start) // 4, part.start)
                values[...] = _rounded(values, precision)
                changed = True
    return bytes(copy) if changed else None


def _tensors(data: Buffer) -> list[Field]:
    """Find the main graph's initializers and the values of its Constant nodes."""
    graph = graph_field(data)
    found: list[Field] = []
    if graph is None:
        return found
    for part in fields(data, graph.start, graph.end):
        if part.wire_type != BYTES:
            continue
        if part.number == GRAPH_INITIALIZER:
            found.append(part)
        elif part.number == GRAPH_NODE:
            found += [
                piece
                for attribute in fields(data, part.start, part.end)
                if attribute.number == NODE_ATTRIBUTE and attribute.wire_type == BYTES
                for piece in fields(data, attribute.start, attribute.end)
                if piece.number == ATTRIBUTE_TENSOR and piece.wire_type == BYTES
            ]
    return found


def _facts(data: Buffer, tensor: Field) -> tuple[int, list[Field], bool]:
    """Return a tensor's type, where its float32 numbers stand, and whether they are in another file."""
    kind, numbers, external = 0, [], False
    for part in fields(data, tensor.start, tensor.end):
        if part.number == TENSOR_TYPE and part.wire_type == VARINT:
            kind = part.value
        elif part.number in (TENSOR_FLOATS, TENSOR_RAW) and part.wire_type != VARINT:
            numbers.append(part)
        elif part.number == TENSOR_EXTERNAL:
            external = True
    return kind, numbers, external


def _rounded(values: Array, precision: HalfPrecision) -> Array:
    if precision == "float16":
        largest = float(np.finfo(np.float16).max)
        kept = np.where(np.isfinite(values), np.clip(values, -largest, largest), values)
        return kept.astype(np.float16).astype(np.float32)
    bits = values.view("<u4").astype(np.uint64)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    shortened: Array = nearest.astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(values), shortened, values)
