"""What a picture is handed over as: its name in errors, and its bytes where it has any.

Files that this opens are closed again before the call returns; files of the caller never are.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ascend_infer.errors import ImageError

__all__ = ["ArrayLike", "Readable", "Source", "describe", "is_array", "is_encoded", "opened"]


class Readable(Protocol):
    """A file opened in binary mode, seekable or not."""

    def read(self, size: int = -1, /) -> bytes: ...  # noqa: D102


class ArrayLike(Protocol):
    """Anything that numpy can see as an array, such as a tensor in host memory."""

    def __array__(self) -> NDArray[Any]: ...


Source = str | os.PathLike[str] | bytes | bytearray | memoryview | Readable | Image.Image | ArrayLike


def is_array(source: object) -> bool:
    """Tell whether numpy can see this as an array; Pillow's images count as images."""
    if isinstance(source, np.ndarray):
        return True
    # numpy's strings, being scalars, have the method too, and are paths.
    return hasattr(source, "__array__") and not isinstance(source, Image.Image | str | bytes | type)


def is_encoded(source: object) -> bool:
    """Tell whether this is a path, or holds or gives the bytes of an image file."""
    if isinstance(source, str | os.PathLike | bytes | bytearray | memoryview):
        return True
    return callable(getattr(source, "read", None)) and not isinstance(source, type)


def describe(source: object, index: int | None = None) -> str:
    """Name a source for an error: its path, or what it is and which place it has in the batch."""
    if isinstance(source, str | os.PathLike):
        return str(os.fsdecode(source)) or "''"
    if isinstance(source, bytes | bytearray | memoryview):
        size = source.nbytes if isinstance(source, memoryview) else len(source)
        text = f"{type(source).__name__} of {size} bytes"
    elif isinstance(source, Image.Image):
        filename = getattr(source, "filename", "")
        text = f"PIL image {source.mode} {source.width}x{source.height}"
        if isinstance(filename, str) and filename:
            text += f" of {filename}"
    elif is_array(source):
        shape, dtype = getattr(source, "shape", "?"), getattr(source, "dtype", "?")
        text = f"array {tuple(shape) if shape != '?' else shape} {dtype}"
    elif is_encoded(source):
        name = getattr(source, "name", None)
        text = f"file {name}" if isinstance(name, str) and name else f"file <{type(source).__name__}>"
    else:
        text = f"object of type {type(source).__name__}"
    return text if index is None else f"images[{index}] ({text})"


@contextmanager
def opened(source: Any, name: str) -> Iterator[IO[bytes]]:
    """Open a path, bytes or file object for reading from its beginning, seekable; never empty.

    A file object is read from where it stands to its end, and left there, open.

    Raises
    ------
    ImageError
        No such file, a directory, no permission, no regular file, opened as text, empty.
    """
    if isinstance(source, str | os.PathLike):
        with _open_path(os.fsdecode(source), name) as file:
            yield file
        return
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
    else:
        try:
            data = source.read()
        except Exception as error:
            raise ImageError(f"{name}: reading it failed: {error}; it must be open", source=name) from error
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ImageError(
                f"{name}: read() gave {type(data).__name__}, not bytes; "
                "open it in binary mode: open(path, 'rb')",
                source=name,
            )
    if not data:
        raise ImageError(
            f"{name}: it holds no bytes, where an image file was expected; "
            "a file object that was read before must be rewound: file.seek(0)",
            source=name,
        )
    yield io.BytesIO(data)


def _open_path(path: str, name: str) -> IO[bytes]:
    # stat first: opening a pipe would wait for its writer, opening some devices does things.
    try:
        mode = os.stat(path)
        if stat.S_ISREG(mode.st_mode) and mode.st_size > 0:
            return open(path, "rb")
    except (OSError, ValueError) as error:
        raise ImageError(f"{name}: {_why_not_opened(path, error)}", source=name) from error
    if stat.S_ISDIR(mode.st_mode):
        problem = "is a directory; give its files, e.g. sorted(Path(directory).glob('*.jpg'))"
    elif not stat.S_ISREG(mode.st_mode):
        problem = "is no regular file; read it yourself and give the bytes"
    else:
        problem = "is empty, 0 bytes; get a fresh copy of the file"
    raise ImageError(f"{name}: {problem}", source=name)


def _why_not_opened(path: str, error: OSError | ValueError) -> str:
    if "://" in path or path.startswith("data:"):
        return "is a URL and no path; fetch it yourself and give the bytes"
    if isinstance(error, FileNotFoundError):
        where = "" if os.path.isabs(path) else f" (looked for below {_current_directory()})"
        return f"there is no such file{where}; check the path"
    if isinstance(error, PermissionError):
        return "it may not be read by this user; check the permissions of the file and its directories"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"it cannot be opened: {reason}"


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "a working directory that is gone"
