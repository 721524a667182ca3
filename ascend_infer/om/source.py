"""Where a model file's bytes come from: a file read by position, or a buffer in memory."""

from __future__ import annotations

import errno
import io
import os
from types import TracebackType
from typing import BinaryIO

from ascend_infer.om.damage import file_error
from ascend_infer.regular_file import NotRegularFileError, open_regular

__all__ = ["Source", "open_path"]


class Source:
    """A range of bytes that is read piece by piece.

    Files are read with ``pread``, not mapped: a file that someone replaces in place while it is being read
    then gives a short read and an error, where a mapping would kill the process with SIGBUS.

    Parameters
    ----------
    data : buffer or int
        The bytes themselves, or an open file descriptor, which the source owns.
    path : str or None
        What errors call it.
    begin, size : int
        The range; a member of a container starts inside its file.
    """

    def __init__(self, data: memoryview | int, path: str | None, begin: int, size: int) -> None:
        self._data = data
        self.path = path
        self.begin = begin
        self.size = size

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(self._data, int):
            os.close(self._data)

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes of a range that lies within the source.

        Raises
        ------
        ModelFileError
            When the file became shorter in the meantime or the medium fails.
        """
        begin = self.begin + offset
        if isinstance(self._data, memoryview):
            return bytes(self._data[begin : begin + length])
        pieces = []
        while length:
            try:
                piece = os.pread(self._data, length, begin)
            except OSError as error:
                raise file_error(
                    self.path, f"cannot be read: {error.strerror}", "Check the disk or the mount.", begin
                ) from error
            if not piece:
                raise file_error(
                    self.path, "the file became shorter while it was read",
                    "Something replaces it right now; wait for it, or move files into place by rename.",
                    begin,
                )  # fmt: skip
            pieces.append(piece)
            begin += len(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def part(self, offset: int, size: int) -> Source:
        """Return a range of this source; it is valid while this source is open."""
        return Source(self._data, self.path, self.begin + offset, size)

    def stream(self) -> BinaryIO:
        """Return a seekable file object over the source, for readers of other containers."""
        if isinstance(self._data, memoryview):
            return io.BytesIO(self._data[self.begin : self.begin + self.size])
        return os.fdopen(os.dup(self._data), "rb")


def open_path(path: str | os.PathLike[str]) -> Source:
    """Open a regular file for reading; never blocks on pipes or devices.

    Raises
    ------
    ModelFileError
        When there is no such file, it is none, or it must not be read.
    """
    name = os.fsdecode(path)
    try:
        descriptor, info = open_regular(path)
    except NotRegularFileError as error:
        if error.kind == "a directory":
            raise file_error(
                name, "is a directory",
                "Give the .om file in it, or give the directory to Session as a model directory.",
            ) from None  # fmt: skip
        raise file_error(
            name, f"is no regular file but {error.kind}", "Give the path of a .om file."
        ) from None
    except OSError as error:
        reason, advice = _cannot_open(name, error)
        raise file_error(name, reason, advice) from error
    except ValueError as error:  # a NUL in the path
        raise file_error(name, f"is no path: {error}", "Give the path of a .om file.") from error
    return Source(descriptor, name, 0, info.st_size)


def _cannot_open(name: str, error: OSError) -> tuple[str, str]:
    if error.errno == errno.ENOENT:
        if os.path.islink(name):
            return f"is a link to {os.readlink(name)}, which does not exist", "Restore its target."
        return "does not exist", "Check the path."
    if error.errno in (errno.EACCES, errno.EPERM):
        return "must not be read by this user", "Give read permission on the file and its directories."
    if error.errno == errno.ELOOP:
        return "is a link that leads back to itself", "Replace the link by the file."
    return f"cannot be opened: {error.strerror}", "Check the path."
