"""Whether two paths lead to the same file, so that no output is written over what it is made of."""

from __future__ import annotations

import os

__all__ = ["is_same_file"]


def is_same_file(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> bool:
    """Tell whether both paths lead to one file or folder that is there, through links and relative paths too."""
    try:
        return os.path.samefile(first, second)
    except (OSError, ValueError):
        # What is not there, or cannot be looked at, is nothing that could be lost.
        return False
