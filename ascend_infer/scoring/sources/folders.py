"""The folders below one, and the files that a pattern matches; each folder once, whatever links lead to it."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from typing import AnyStr

__all__ = ["folders_below", "matches"]


def folders_below(
    top: AnyStr, refuse: Callable[[OSError], None] | None = None, *, hidden: tuple[AnyStr, ...] = ()
) -> Iterator[tuple[AnyStr, list[AnyStr]]]:
    """Yield each folder with the names of its files.

    A folder that several paths lead to comes under its own; under that of a link only where it lies elsewhere. So no
    links form a circle, and the same files have the same paths on every file system.

    Parameters
    ----------
    top : str or bytes
        What comes is of the same kind.
    refuse : function, optional
        Told what cannot be read; otherwise that is left out.
    hidden : tuple of str or bytes
        Folders whose names begin so are left out.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [top]
    while waiting:
        links: list[AnyStr] = []
        for start in waiting:
            for place, folders, files in os.walk(start, onerror=refuse):
                folders[:] = sorted(name for name in folders if not name.startswith(hidden))
                which = _which(place)
                if which in seen:
                    folders.clear()
                    continue
                seen.add(which)
                links += [path for name in folders if os.path.islink(path := os.path.join(place, name))]
                yield place, files
        waiting = sorted(links)


def matches(pattern: str) -> Iterator[str]:
    """Yield what a pattern matches, as ``glob`` with ``recursive`` does, but that ``**`` is never in a circle."""
    parts = pattern.split(os.sep)
    if "**" not in parts:
        yield from glob.iglob(pattern)
        return
    place = parts.index("**")
    head = os.sep.join([*parts[:place], ""])
    rest = parts[place + 1 :]
    while rest[:1] == ["**"]:
        del rest[0]
    tail = os.sep.join(rest) or "*"
    for top in glob.iglob(head) if head else ("",):
        for folder, _ in folders_below(top or os.curdir, hidden=(".",)):
            inside = os.path.relpath(folder, top or os.curdir)
            base = top if inside == os.curdir else os.path.join(top, inside)
            yield from matches(os.path.join(glob.escape(base), tail))


def _which(folder: AnyStr) -> tuple[int, int]:
    found = os.stat(folder)
    return found.st_dev, found.st_ino
