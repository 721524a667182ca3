"""acl.util: bytes and arrays from addresses, and addresses that lead nowhere."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest

from ascend_infer.compat.acl.mapped import mapped_end


def test_arrays_and_addresses(acl: Any) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.warns(Warning, match="will be deprecated"):
        address = acl.util.numpy_to_ptr(array)
    assert address == array.ctypes.data
    with pytest.warns(Warning, match="will be deprecated"):
        same = acl.util.ptr_to_numpy(address, (2, 3), 11)
    same[0, 0] = 9
    assert array[0, 0] == 9
    with pytest.warns(Warning, match="will be deprecated"):
        address, kept = acl.util.numpy_contiguous_to_ptr(array.T)
    assert kept.flags.c_contiguous
    assert np.array_equal(kept, array.T)
    assert acl.util.ptr_to_bytes(address, kept.nbytes) == array.T.tobytes()
    with pytest.warns(Warning, match="deprecated|discontiguous") as told:
        acl.util.numpy_to_ptr(array.T)
    assert len(told) == 2
    with pytest.warns(Warning, match="deprecated"), pytest.raises(ValueError, match="needs an ndarray"):
        acl.util.numpy_to_ptr([1, 2])


def test_no_bytes_come_from_where_there_are_none(acl: Any) -> None:
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 4 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory[:5] = b"ab\0cd"
    assert acl.util.ptr_to_bytes(address, 5) == b"ab\0cd"
    assert acl.util.ptr_to_bytes(address, 0) == acl.util.ptr_to_bytes(0, 0) == b""
    assert mapped_end(address + 1, 4 * page - 1) == address + 4 * page
    assert ctypes.CDLL(None).munmap(ctypes.c_void_p(address + 3 * page), ctypes.c_size_t(page)) == 0
    try:
        for size in (3 * page + 1, 4 * page, 2**31, 2**32 + 4):
            # Another thread's memory may come to lie there meanwhile: not before the page after it is gone.
            with pytest.raises(ValueError, match=f"got {size} bytes at {address:#x}, but from 0x"):
                acl.util.ptr_to_bytes(address, size)
    finally:
        # Given back whole: the mmap object will unmap all four pages.
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
        assert libc.mmap(address + 3 * page, page, 3, 0x32, -1, 0) == address + 3 * page


@pytest.mark.parametrize(
    ("pointer", "size", "words"),
    [
        (0, 40, "the null pointer for 40 bytes"),
        (4096, -1, "the size -1, expected 0 or more"),
        (-4096, 8, "8 bytes at -0x1000, which no address space has"),
        (4096, 2**63, "which no address space has"),
        (2**64 - 1, 2, "which no address space has"),
        (8, 8, "but from 0x8 on there is no memory"),
    ],
)
def test_bytes_that_cannot_be(acl: Any, pointer: int, size: int, words: str) -> None:
    with pytest.raises(ValueError, match=f"acl.util.ptr_to_bytes: got .*{words}"):
        acl.util.ptr_to_bytes(pointer, size)


def test_arrays_that_cannot_be(acl: Any) -> None:
    for pointer, shape, words in (
        (0, (2, 3), "null pointer for 24 bytes"),
        (4096, (2, -3), "sizes of 0 or more"),
        (4096, (2**32, 2**32), "no address space"),
    ):
        with pytest.warns(Warning, match="deprecated"), pytest.raises(ValueError, match=words):
            acl.util.ptr_to_numpy(pointer, shape, 11)
