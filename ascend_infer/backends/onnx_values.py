"""Tensors that onnxruntime's Python API cannot take or give as numpy arrays: BF16, FP8 and strings.

Measured on onnxruntime 1.32: ``run`` refuses ml_dtypes arrays ("Numpy_type 256 can't be converted"),
``OrtValue.numpy`` refuses bf16 outputs, and a string input of ``b'abc'`` becomes the text ``"b'abc'"``.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ascend_infer.backends.base import Array
from ascend_infer.backends.onnx_runtime import ort
from ascend_infer.types import DataType

__all__ = ["NARROW", "encode_strings", "from_value", "to_value"]

#: Types that pass as raw bits, with the integer that has their width.
NARROW: dict[DataType, type[np.unsignedinteger[Any]]] = {
    DataType.BF16: np.uint16,
    DataType.FP8_E4M3FN: np.uint8,
    DataType.FP8_E5M2: np.uint8,
}


def to_value(array: Array, dtype: DataType) -> Any:
    """Wrap an array as an OrtValue; borrows the array's memory for types in ``NARROW``."""
    if dtype in NARROW:
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(NARROW[dtype]), dtype.onnx)
    return ort.OrtValue.ortvalue_from_numpy(array)


def from_value(value: Any, dtype: DataType) -> Array:
    """Copy an OrtValue on the CPU into an array of its own."""
    if dtype not in NARROW:
        array: Array = value.numpy()
        return array
    result: Array = np.empty(tuple(value.shape()), dtype=dtype.numpy)
    if result.nbytes:
        ctypes.memmove(result.ctypes.data, value.data_ptr(), result.nbytes)
    return result


def encode_strings(array: Array) -> Array:
    """Turn onnxruntime's array of ``str`` into Triton's BYTES: an object array of ``bytes``, a new one."""
    result: Array = np.empty(array.shape, dtype=object)
    flat = result.reshape(-1)
    for index, text in enumerate(array.reshape(-1)):
        flat[index] = text.encode("utf-8", "surrogateescape")
    return result
