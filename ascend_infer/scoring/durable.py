"""Files that are whole or not there, whatever happens while they are written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

__all__ = ["sync_folder", "write_durably"]


def write_durably(path: str, data: bytes | Iterable[bytes]) -> None:
    """Write a file, at once or piece by piece, under another name, bring it to the disk, and give it its name.

    The other name is always the same, so that what a killed process left is written over.

    Raises
    ------
    OSError
        Nothing has changed under ``path``.
    """
    temporary = f"{path}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.writelines((data,) if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    """Bring a folder's names to the disk."""
    number = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
