"""Copying parts one behind the other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import BinaryIO

__all__ = ["join_files"]


def join_files(parts: Sequence[str], file: BinaryIO, skip_lines: int = 0) -> None:
    """Copy files into one, without the first lines of each, and bring it to the disk."""
    for path in parts:
        with open(path, "rb") as part:
            for _ in range(skip_lines):
                part.readline()
            shutil.copyfileobj(part, file, 1 << 20)
    file.flush()
    os.fsync(file.fileno())
