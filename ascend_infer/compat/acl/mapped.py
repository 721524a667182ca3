"""How far memory of this process reaches from an address on: asked of the kernel, without touching it."""

from __future__ import annotations

import ctypes
import mmap

__all__ = ["mapped_end"]

#: Pages asked about at a time: mincore writes a byte for each.
_STEP = 1 << 16
_mincore = ctypes.CDLL(None).mincore
_mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def mapped_end(address: int, size: int) -> int:
    """Return the end of the range, or where in it the first page lies that this process does not have.

    Pages without any permission count as there.
    """
    end, at = address + size, address - address % mmap.PAGESIZE
    step, answer = _STEP, ctypes.create_string_buffer(min(_STEP, size // mmap.PAGESIZE + 2))
    while at < end:
        pages = min(step, -(-(end - at) // mmap.PAGESIZE))
        if _mincore(at, pages * mmap.PAGESIZE, answer) == 0:
            at += pages * mmap.PAGESIZE
        elif pages == 1:
            return max(at, address)
        else:
            step = max(1, pages // 2)  # one of them is missing: halve until it is the first
    return end
