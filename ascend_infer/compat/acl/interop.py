"""``acl.util``: addresses of bytes and arrays, and what lies at an address."""

from __future__ import annotations

import ctypes
import warnings
from operator import index
from typing import Any

import numpy as np

__all__ = ["bytes_to_ptr", "numpy_contiguous_to_ptr", "numpy_to_ptr", "ptr_to_bytes", "ptr_to_numpy"]

Array = np.ndarray[Any, np.dtype[Any]]

#: numpy's own numbers of its types (``NPY_FLOAT`` is 11), which ``ptr_to_numpy`` takes.
_BY_NUMBER: dict[int, np.dtype[Any]] = {np.dtype(code).num: np.dtype(code) for code in "?bBhHiIlLqQefdgFDG"}


def bytes_to_ptr(data: bytes) -> int:
    """Return where a bytes object keeps its bytes; valid while that object is alive."""
    if not isinstance(data, bytes):
        raise ValueError("needs an byte as argument")
    address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
    assert address is not None
    return address


def ptr_to_bytes(ptr: int, size: int) -> bytes:
    """Return a copy of host memory. An address on the device ends the process, as it does with pyACL."""
    return ctypes.string_at(index(ptr), index(size))


def numpy_to_ptr(array: Array) -> int:
    """Return the address of an array's first element; valid while the array is alive. Deprecated by pyACL."""
    _will_be_deprecated("numpy_to_ptr", "bytes_to_ptr")
    if not isinstance(array, np.ndarray):
        raise ValueError("needs an ndarray as argument")
    if not array.flags.c_contiguous:
        warnings.warn(
            "The input ndarray is discontiguous. Please use acl.util.bytes_to_ptr instead.",
            Warning,
            stacklevel=2,
        )
    return int(array.ctypes.data)


def numpy_contiguous_to_ptr(array: Array) -> tuple[int, Array]:
    """Return an address and the contiguous array it is of, which has to be kept. Deprecated by pyACL."""
    _will_be_deprecated("numpy_contiguous_to_ptr", "bytes_to_ptr")
    if not isinstance(array, np.ndarray):
        raise ValueError("needs an ndarray as argument")
    contiguous = np.ascontiguousarray(array)
    return int(contiguous.ctypes.data), contiguous


def ptr_to_numpy(ptr: int, shape: tuple[int, ...], number: int) -> Array:
    """Return an array over host memory: no copy, nothing kept alive. Deprecated by pyACL."""
    _will_be_deprecated("ptr_to_numpy", "ptr_to_bytes")
    if not isinstance(shape, tuple) or not all(isinstance(size, int) for size in shape):
        raise TypeError("the second argument is not list of int")
    dtype = _BY_NUMBER.get(index(number))
    if dtype is None:
        raise ValueError(f"acl.util.ptr_to_numpy: got {number}, expected one of numpy's type numbers")
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    memory = memoryview((ctypes.c_uint8 * size).from_address(index(ptr)))
    return np.frombuffer(memory, dtype).reshape(shape)


def _will_be_deprecated(name: str, instead: str) -> None:
    warnings.warn(
        f"acl.util.{name} will be deprecated. Please use acl.util.{instead} instead.", Warning, stacklevel=3
    )
