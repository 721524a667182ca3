"""Kernel stores and host libraries in an .om file: their names and sizes; their code is not read."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ascend_infer.om.source import Source

__all__ = ["Store", "read_host_libraries", "read_kernels"]

_MAGIC = 0x5D776EFD
# magic, length of the name, length of the code
_KERNEL = struct.Struct("<III")
# magic, length of the name, type, length of the vendor, length of the code
_LIBRARY = struct.Struct("<IHHII")
# A name of the usual length comes along with its item's head in one read.
_WINDOW = 160
_MAX_ITEMS = 65536
_MAX_NAME = 4096


@dataclass(frozen=True, slots=True)
class Store:
    """What is in a store: names in order, bytes of code, and what is wrong with it (``""`` when nothing is)."""

    names: tuple[str, ...] = ()
    code_bytes: int = 0
    problem: str = ""


def read_kernels(source: Source, offset: int, size: int) -> Store:
    """Walk over TBE_KERNELS or CUST_AICPU_KERNELS."""
    return _walk(source, offset, offset + size, _KERNEL)


def read_host_libraries(source: Source, offset: int, size: int) -> Store:
    """Walk over SO_BINS: shared objects that run on the host, in the process that loads the model."""
    if size < 4:
        return Store(problem=f"has only {size} bytes")
    return _walk(source, offset + 4, offset + size, _LIBRARY)


def _walk(source: Source, place: int, end: int, item: struct.Struct) -> Store:
    names: list[str] = []
    total = 0
    while place < end:
        window = source.read(place, min(_WINDOW, end - place))
        if len(window) < item.size or len(names) >= _MAX_ITEMS:
            return Store(tuple(names), total, f"is not understood after item {len(names)}")
        if item is _KERNEL:
            magic, name_size, code_size = item.unpack_from(window)
            extra = 0
        else:
            magic, name_size, _, extra, code_size = item.unpack_from(window)
        if (
            magic != _MAGIC
            or name_size > _MAX_NAME
            or item.size + name_size + extra + code_size > end - place
        ):
            return Store(tuple(names), total, f"is damaged at item {len(names)}")
        if item.size + name_size > len(window):
            window = source.read(place, item.size + name_size)
        names.append(window[item.size : item.size + name_size].decode("utf-8", "backslashreplace"))
        total += code_size
        place += item.size + name_size + extra + code_size
    return Store(tuple(names), total)
