"""What a shared library says it needs, read from its ELF header without loading it."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

__all__ = ["ElfError", "SharedObject", "read_shared_object"]

#: e_machine (ELF gABI) -> the word of ``uname -m``.
_MACHINES = {62: "x86_64", 183: "aarch64", 3: "i686", 40: "arm"}
_MAX_PROGRAM_HEADERS = 1024
_MAX_DYNAMIC_BYTES = 1 << 20
_MAX_STRINGS_BYTES = 16 << 20
_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 0, 1, 5, 10, 14, 15, 29


class ElfError(ValueError):
    """Not a shared library of a kind that this reader knows; one sentence says why."""


@dataclass(frozen=True, slots=True)
class SharedObject:
    """A library's dynamic section.

    Attributes
    ----------
    machine : str
        ``"x86_64"``, ``"aarch64"``, or ``"machine 243"``.
    soname : str or None
    needed : tuple of str
        Libraries that must be loaded with it (DT_NEEDED), in the file's order.
    search : tuple of str
        Its RPATH and RUNPATH folders, ``$ORIGIN`` not yet replaced.
    """

    machine: str
    soname: str | None
    needed: tuple[str, ...]
    search: tuple[str, ...]


def read_shared_object(path: Path) -> SharedObject:
    """Read a 64-bit little-endian shared library's dynamic section.

    Raises
    ------
    ElfError
        The file is something else or damaged.
    OSError
        It cannot be read.
    """
    with open(path, "rb") as file:
        try:
            return _read(file, os.fstat(file.fileno()).st_size)
        except struct.error as error:
            raise ElfError("it is cut short") from error


def _read(file: BinaryIO, size: int) -> SharedObject:
    header = file.read(64)
    if header[:4] != b"\x7fELF":
        raise ElfError("it is empty" if not header else "it is not an ELF file")
    if header[4:6] != b"\x02\x01":
        raise ElfError("it is not a 64-bit little-endian library")
    machine, program_offset = struct.unpack_from("<H", header, 18)[0], struct.unpack_from("<Q", header, 32)[0]
    entry_size, count = struct.unpack_from("<HH", header, 54)
    if entry_size < 56 or count > _MAX_PROGRAM_HEADERS:
        raise ElfError("its program headers are damaged")
    segments: list[tuple[int, int, int]] = []
    dynamic: tuple[int, int] | None = None
    table = _slice(file, size, program_offset, entry_size * count)
    for index in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", table, index * entry_size)
        if kind == _PT_LOAD:
            segments.append((address, offset, length))
        elif kind == _PT_DYNAMIC:
            dynamic = offset, length
    if dynamic is None:
        raise ElfError("it has no dynamic section")
    if dynamic[1] > _MAX_DYNAMIC_BYTES:
        raise ElfError("its dynamic section is damaged")
    entries: list[tuple[int, int]] = []
    for tag, value in struct.iter_unpack("<qQ", _slice(file, size, dynamic[0], dynamic[1] & ~15)):
        if tag == _DT_NULL:
            break
        entries.append((tag, value))
    by_tag = dict(entries)
    strings_size = by_tag.get(_DT_STRSZ, 0)
    if strings_size > _MAX_STRINGS_BYTES:
        raise ElfError("its string table is damaged")
    start = _file_offset(segments, by_tag.get(_DT_STRTAB, 0))
    strings = _slice(file, size, start, strings_size)

    def names(*tags: int) -> tuple[str, ...]:
        return tuple(_string(strings, value) for tag, value in entries if tag in tags)

    return SharedObject(
        machine=_MACHINES.get(machine, f"machine {machine}"),
        soname=next(iter(names(_DT_SONAME)), None),
        needed=names(_DT_NEEDED),
        search=tuple(part for text in names(_DT_RPATH, _DT_RUNPATH) for part in text.split(":") if part),
    )


def _slice(file: BinaryIO, size: int, offset: int, length: int) -> bytes:
    if offset + length > size:
        raise ElfError("it is cut short")
    file.seek(offset)
    return file.read(length)


def _file_offset(segments: list[tuple[int, int, int]], address: int) -> int:
    for start, offset, length in segments:
        if start <= address < start + length:
            return address - start + offset
    raise ElfError("its string table is outside the file")


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if end < 0:
        raise ElfError("a name reaches beyond its string table")
    return table[offset:end].decode("utf-8", "replace")
