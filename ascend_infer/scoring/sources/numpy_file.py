"""Rows of ``.npy`` and ``.npz`` files, read a piece at a time: nothing is mapped, nothing is held whole."""

from __future__ import annotations

import struct
import sys
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from math import prod
from tokenize import TokenError
from typing import IO, Any

import numpy as np

from ascend_infer.errors import InvalidOptionError, ScoringSourceError
from ascend_infer.scoring.rows import Row
from ascend_infer.scoring.sources.source import SourceOptions, file_identity, source_error

__all__ = ["NumpyFile"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Bytes read at a time.
_PIECE = 1 << 20
_IDS = ("id", "ids")
#: What reading raises where a file is not what it was, or never was what it says; an archive's reader says it in many
#: ways.
_UNREADABLE = (OSError, EOFError, ValueError, MemoryError, zipfile.BadZipFile, zlib.error)
#: What opening an archive raises besides: unknown compression, an encrypted member, a directory that is damaged.
_NO_ARCHIVE = (
    *(EOFError, ValueError, LookupError, OverflowError, RuntimeError, struct.error),
    *(zipfile.BadZipFile, zlib.error),
)
#: And what reading a header raises, which is a Python literal.
_DAMAGED = (
    *(EOFError, zipfile.BadZipFile, zlib.error),
    *(ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError),
)


class _Member:
    """One array on disk: its header read, its rows still to come."""

    def __init__(self, path: str, name: str, file: IO[bytes]) -> None:
        self.name = name
        self._file = file
        try:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
        except (ValueError, EOFError, zlib.error) as error:
            raise _wrong(path, f"{name or 'it'} is no array file: {error}") from error
        try:
            shape, fortran, dtype = read(file)
            if any(side < 0 for side in shape) or dtype.itemsize * prod(shape) > sys.maxsize:
                raise ValueError(f"a shape of {shape}")
        except _DAMAGED as error:
            # Not numpy's words: of a header that is too long they say to trust the file.
            raise _wrong(path, f"the header of {name or 'it'} is damaged; write the file again") from error
        if dtype.hasobject:
            raise _wrong(
                path, f"{name or 'it'} holds Python objects, which are never unpickled; save plain arrays"
            )
        if not shape:
            raise _wrong(path, f"{name or 'it'} is a single value, and the first dimension counts rows")
        if fortran and len(shape) > 1:
            raise _wrong(path, f"{name or 'it'} is in column order: save np.ascontiguousarray(array)")
        self.count: int = shape[0]
        self.shape: tuple[int, ...] = tuple(shape[1:])
        self.dtype: np.dtype[Any] = dtype
        self.row_bytes = dtype.itemsize * prod(self.shape)

    def skip(self, rows: int) -> None:
        self._file.seek(rows * self.row_bytes, 1)

    def read(self, rows: int) -> Array | None:
        """Return the next rows; None where the file ends before them. ValueError: they are no text that there is."""
        wanted = rows * self.row_bytes
        data = self._file.read(wanted)
        if len(data) != wanted:
            return None
        if self.dtype.kind == "U" and data:
            letters = np.frombuffer(data, np.dtype(np.uint32).newbyteorder(self.dtype.byteorder))
            if letters.max(initial=0) > sys.maxunicode:
                # numpy itself finds out when an element is taken, with a SystemError.
                raise ValueError(f"{self.name} holds a letter beyond Unicode")
        return np.frombuffer(data, self.dtype).reshape((rows, *self.shape))


class NumpyFile:
    """The rows of an array, or of arrays with the same first dimension that are called as the inputs are.

    Members ``id`` or ``ids`` of an ``.npz`` that are no inputs name the rows. Items are arrays by input.

    Raises
    ------
    InvalidOptionError
        The file is no such file.
    ScoringSourceError
        It cannot be read.
    """

    checked = True
    base = ""

    def __init__(self, path: str, options: SourceOptions) -> None:
        self.name = path
        self._options = options
        self._ids = tuple(name for name in _IDS if name not in options.inputs)
        with ExitStack() as files:
            members = self._open(files)
            counts = {member.count for member in members}
            if len(counts) != 1:
                listed = ", ".join(f"{member.name} {member.count}" for member in members)
                raise _wrong(path, f"its arrays have different numbers of rows: {listed}")
            self.total: int | None = counts.pop()
            self.numbered = not any(member.name in self._ids for member in members)

    def identity(self) -> dict[str, Any]:
        """Return the file's size and time."""
        return file_identity(self.name, "numpy")

    def listing(self) -> Iterator[str]:
        """Return nothing: one file."""
        return iter(())

    def places(self) -> Iterator[str]:
        """Return the file."""
        return iter((self.name,))

    def rows(self, start: int) -> Generator[Row, None, None]:
        """Give the rows, some megabytes at a time."""
        assert self.total is not None
        with ExitStack() as files:
            members = self._open(files)
            try:
                for member in members:
                    member.skip(start)
            except _UNREADABLE as error:
                raise self._ended(start, error) from error
            step = max(1, _PIECE // max(1, sum(member.row_bytes for member in members)))
            for begin in range(start, self.total, step):
                count = min(step, self.total - begin)
                try:
                    blocks = {member.name: member.read(count) for member in members}
                except _UNREADABLE as error:
                    raise self._ended(begin, error) from error
                if any(block is None for block in blocks.values()):
                    raise self._ended(begin, EOFError())
                ids = next((blocks.pop(name) for name in self._ids if name in blocks), None)
                for offset in range(count):
                    item = {name: block[offset] for name, block in blocks.items() if block is not None}
                    index = begin + offset
                    yield Row(index, index if ids is None else _text(ids[offset]), item)

    def _ended(self, row: int, error: Exception) -> ScoringSourceError:
        if isinstance(error, EOFError):
            return source_error(self.name, row, f"the file ends here, {self.total} rows were expected")
        return source_error(
            self.name, row, error if isinstance(error, OSError) else f"it is damaged: {error}"
        )

    def _open(self, files: ExitStack) -> list[_Member]:
        try:
            if not self.name.endswith(".npz"):
                name = self._only_input()
                return [_Member(self.name, name, files.enter_context(open(self.name, "rb")))]
            archive = files.enter_context(zipfile.ZipFile(self.name))
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            data = [name for name in names if name not in self._ids]
            wanted = [name for name in data if name in self._options.inputs or self._options.everything]
            renamed = {name: name for name in wanted}
            if not wanted and len(data) == 1:
                renamed = {data[0]: self._only_input()}
            if not renamed:
                raise _wrong(
                    self.name,
                    f"it has members {', '.join(names)}, expected the model's inputs {', '.join(self._options.inputs)}",
                )
            renamed |= {name: name for name in names if name in self._ids}
            return [
                _Member(self.name, given, files.enter_context(archive.open(f"{name}.npy")))
                for name, given in renamed.items()
            ]
        except InvalidOptionError:
            raise
        except _NO_ARCHIVE as error:
            raise _wrong(self.name, f"it is no .npz file: {error}") from error
        except OSError as error:
            raise source_error(self.name, None, error) from error

    def _only_input(self) -> str:
        if len(self._options.inputs) != 1 and not self._options.everything:
            raise _wrong(
                self.name,
                f"the model has inputs {', '.join(self._options.inputs)}: give an .npz with a member for each",
            )
        return self._options.inputs[0]


def _text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _wrong(path: str, why: str) -> InvalidOptionError:
    return InvalidOptionError(f"source {path}: {why}", option="source", got=path)
