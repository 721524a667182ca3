"""Outputs of text (BYTES), which come as bytes or str, as str."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["decoded"]

Array = np.ndarray[Any, np.dtype[Any]]


def decoded(array: Array) -> Array:
    """Return an array of objects with each element as ``str``; bytes that are no UTF-8 are written as escapes."""
    if array.dtype != object:
        return array
    texts: Array = np.empty(array.shape, dtype=object)
    flat = texts.reshape(-1)
    for index, item in enumerate(array.reshape(-1)):
        flat[index] = item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else str(item)
    return texts
