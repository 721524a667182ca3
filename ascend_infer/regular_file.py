"""Opening files that somebody named: never waiting for a pipe's writer, never reading a device without end."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["FileTooLargeError", "NotRegularFileError", "file_kind", "open_regular", "read_regular"]

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotRegularFileError(OSError):
    """Something else than a regular file.

    Attributes
    ----------
    kind : str
        ``"a directory"``, ``"a pipe"``, ``"a socket"``, ``"a device"``.
    """

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(
            errno.EISDIR if kind == "a directory" else errno.EINVAL, f"it is {kind}, not a file", path
        )
        self.kind = kind


class FileTooLargeError(OSError):
    """A file, or what comes out of a pipe, that is larger than it may be.

    Attributes
    ----------
    size : int or None
        Bytes; None for a pipe, which was not read to its end.
    limit : int
    """

    def __init__(self, path: str, size: int | None, limit: int) -> None:
        has = "more" if size is None else f"{size:,} bytes"
        super().__init__(errno.EFBIG, f"it has {has}, at most {limit:,} bytes are read", path)
        self.size = size
        self.limit = limit


def file_kind(mode: int) -> str | None:
    """Return what ``st_mode`` says when it is no regular file, ``"a pipe"``; None for a regular one."""
    if stat.S_ISREG(mode):
        return None
    return next((name for test, name in _KINDS if test(mode)), "no regular file")


def open_regular(path: str | os.PathLike[str], *, pipes: bool = False) -> tuple[int, os.stat_result]:
    """Open a regular file for reading; never blocks on what it is.

    Parameters
    ----------
    path : path-like
    pipes : bool
        Take pipes without a name as well, such as a shell's ``<(command)``. One with a name is refused: opening it
        waits for a writer that may never come.

    Returns
    -------
    descriptor : int
        The caller's to close.
    status : os.stat_result
        Of what was opened, not of what the path meant before.

    Raises
    ------
    NotRegularFileError
    OSError
        Missing, not readable, a circle of links.
    ValueError
        The path holds a zero character.
    """
    name = os.fsdecode(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if error.errno == errno.ENXIO:  # what opening a socket, or a device that is gone, answers
            raise NotRegularFileError(name, file_kind(os.stat(path).st_mode) or "a device") from None
        raise
    try:
        status = os.fstat(descriptor)
        kind = file_kind(status.st_mode)
        if kind is None:
            return descriptor, status
        if pipes and kind == "a pipe" and _is_nameless(descriptor):
            os.set_blocking(descriptor, True)
            return descriptor, status
        raise NotRegularFileError(name, kind)
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | os.PathLike[str], limit: int, *, pipes: bool = False) -> bytes:
    """Return a file's content, of at most ``limit`` bytes.

    Raises
    ------
    FileTooLargeError
        Before anything is read where the size says it.
    NotRegularFileError, OSError, ValueError
        As :func:`open_regular`.
    """
    descriptor, status = open_regular(path, pipes=pipes)
    with open(descriptor, "rb") as file:
        regular = stat.S_ISREG(status.st_mode)
        if regular and status.st_size > limit:
            raise FileTooLargeError(os.fsdecode(path), status.st_size, limit)
        # Not read(limit + 1), which allocates what it is asked for.
        data = file.read(status.st_size + 1) if regular else b"".join(_pieces(file, limit))
        if len(data) > limit:
            raise FileTooLargeError(os.fsdecode(path), None, limit)
        return data


def _pieces(file: BinaryIO, limit: int) -> Iterator[bytes]:
    left = limit + 1
    while left and (piece := file.read(min(left, 1 << 16))):
        left -= len(piece)
        yield piece


def _is_nameless(descriptor: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe:")
    except OSError:
        return False
