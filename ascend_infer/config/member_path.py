"""Paths that a configuration names: they stay inside the model directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["PathEscapeError", "member_path"]


class PathEscapeError(ValueError):
    """A path that leads out of the model directory; the text says how and where to."""


def member_path(
    root: Path, base: Path, name: str, allow_paths: Sequence[str | os.PathLike[str]] = ()
) -> Path:
    """Return ``base / name``, where ``base`` is ``root``, the model directory, or inside it.

    Symbolic links are followed before the comparison. What lies outside the model directory is accepted only
    under one of ``allow_paths``. The file need not exist.

    Raises
    ------
    PathEscapeError
    """
    if "\0" in name:
        raise PathEscapeError("the name holds a zero character")
    path = base / name
    try:
        real = Path(os.path.realpath(path))
        inside = real.is_relative_to(os.path.realpath(root))
        allowed = any(real.is_relative_to(os.path.realpath(place)) for place in allow_paths)
    except (OSError, ValueError) as error:
        raise PathEscapeError(f"the path cannot be followed: {error}") from error
    if inside or allowed:
        return path
    link = " through a symbolic link" if ".." not in Path(name).parts and not Path(name).is_absolute() else ""
    raise PathEscapeError(f"it leads out of the model directory{link}, to {real}")
