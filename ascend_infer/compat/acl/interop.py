"""``acl.util``: addresses of bytes and arrays, and what lies at an address."""

from __future__ import annotations

import ctypes
import math
import sys
import warnings
from operator import index
from typing import Any

import numpy as np

from ascend_infer.compat.acl.mapped import mapped_end

__all__ = ["bytes_to_ptr", "numpy_contiguous_to_ptr", "numpy_to_ptr", "ptr_to_bytes", "ptr_to_numpy"]

Array = np.ndarray[Any, np.dtype[Any]]

#: numpy's own numbers of its types (``NPY_FLOAT`` is 11), which ``ptr_to_numpy`` takes.
_BY_NUMBER: dict[int, np.dtype[Any]] = {np.dtype(code).num: np.dtype(code) for code in "?bBhHiIlLqQefdgFDG"}

#: Of 64 bits, half belong to the kernel; sys.maxsize is also the most that a bytes object has.
_LAST_ADDRESS = sys.maxsize


def bytes_to_ptr(data: bytes) -> int:
    """Return where a bytes object keeps its bytes; valid while that object is alive."""
    if not isinstance(data, bytes):
        raise ValueError("needs an byte as argument")
    address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
    assert address is not None
    return address


def ptr_to_bytes(ptr: int, size: int) -> bytes:
    """Return a copy of host memory. An address on the device may end the process, as it does with pyACL.

    Raises
    ------
    ValueError
        For a null pointer, a negative size, or a range that is not memory of this process throughout.
    MemoryError
        When there is no memory for the copy.
    """
    address, count = index(ptr), index(size)
    _refuse_no_memory("ptr_to_bytes", address, count)
    if count == 0:
        return b""
    end = mapped_end(address, count)
    if end < address + count:
        raise ValueError(
            f"acl.util.ptr_to_bytes: got {count} bytes at {address:#x}, but from {end:#x} on there is no memory "
            "of this process; expected the address and size of host memory: acl.rt.memcpy copies what is on the "
            "device there"
        )
    # ctypes.string_at takes a C int: of 2**32 + 4 it would read 4.
    if count < 1 << 31:
        return ctypes.string_at(address, count)
    return (ctypes.c_char * count).from_address(address).raw


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
    if any(count < 0 for count in shape):
        raise ValueError(f"acl.util.ptr_to_numpy: got the shape {shape}, expected sizes of 0 or more")
    size = math.prod(shape) * dtype.itemsize  # without a bound: numpy's product would wrap around
    _refuse_no_memory("ptr_to_numpy", index(ptr), size)
    if size == 0:
        return np.empty(shape, dtype)
    memory = memoryview((ctypes.c_uint8 * size).from_address(index(ptr)))
    return np.frombuffer(memory, dtype).reshape(shape)


def _refuse_no_memory(name: str, address: int, size: int) -> None:
    """Refuse what cannot be read at all, before it is a fault that ends the process."""
    if size < 0:
        raise ValueError(f"acl.util.{name}: got the size {size}, expected 0 or more bytes")
    if size and address == 0:
        raise ValueError(
            f"acl.util.{name}: got the null pointer for {size} bytes, expected the address of host memory; "
            "a call that failed gives 0: check its ret"
        )
    if not 0 <= address <= _LAST_ADDRESS or size > _LAST_ADDRESS - address:
        raise ValueError(
            f"acl.util.{name}: got {size} bytes at {address:#x}, which no address space has; "
            "expected an address and a size in bytes that a call gave"
        )


def _will_be_deprecated(name: str, instead: str) -> None:
    warnings.warn(
        f"acl.util.{name} will be deprecated. Please use acl.util.{instead} instead.", Warning, stacklevel=3
    )
