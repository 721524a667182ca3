"""Numbers as text: the shortest that reads back as the same number of its own type."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ascend_infer.scoring.sinks.writable import TEXTS
from ascend_infer.scoring.utf8_text import utf8_text
from ascend_infer.types import DataType

__all__ = ["json_text", "number_text", "plain_values"]

Array = np.ndarray[Any, np.dtype[Any]]


def number_text(value: Any, dtype: DataType | None = None) -> str:
    """Return a single value as text; a float32 that came as Python's float gets its own digits, not a double's."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float) and dtype is DataType.FP32:
        value = np.float32(value)
    if isinstance(value, np.generic):
        return str(value.astype(np.float32)) if value.dtype.kind == "V" else str(value)
    return repr(value) if isinstance(value, float) else str(value)


def json_text(value: Any) -> str:
    """Return what :func:`plain_values` makes of a value, as JSON; dates and the like as texts.

    Raises
    ------
    TypeError
        It holds an object that has no text.
    """
    return json.dumps(plain_values(value), default=_text)


def _text(value: Any) -> str:
    if isinstance(value, TEXTS):
        return utf8_text(str(value))
    raise TypeError(f"no JSON for an object of type {type(value).__name__}")


def plain_values(value: Any, dtype: DataType | None = None) -> Any:
    """Return a value as JSON has it: numbers with their own digits, NaN and infinities as the strings of protobuf."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind in "mM":
            return array.astype("U").tolist()  # tolist alone makes numbers of nanoseconds
        if array.dtype.kind in "OS":
            return plain_values(array.tolist())
        if array.dtype.kind in "fV" and array.dtype != np.float64:
            if array.dtype.kind == "V":
                array = array.astype(np.float32)
            array = array.astype("U").astype(np.float64)
        if array.dtype.kind == "c":
            return plain_values(array.view(array.real.dtype).reshape((*array.shape, 2)))
        finite = array.dtype.kind != "f" or bool(np.isfinite(array).all())
        return array.tolist() if finite else _spelled(array.tolist())
    if isinstance(value, float):
        if dtype is DataType.FP32:
            value = float(str(np.float32(value)))
        return _spelled(value)
    if isinstance(value, complex):
        return [plain_values(value.real), plain_values(value.imag)]
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        return utf8_text(value)
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain_values(item) for key, item in value.items()}
    return value


def _spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
