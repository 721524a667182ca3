"""Files as they are at a moment, by what the system says of them, to tell later whether they were changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

__all__ = ["FileStamps"]

_Stamp = tuple[int, int, int] | None


class FileStamps:
    """Sizes and times of change of some files, now.

    Parameters
    ----------
    paths : iterable of str
        One that is not there counts too.
    inodes : bool
        A file that took the place of one with the same size and time is another one. Some network file systems number
        a file anew whenever it is looked up.
    """

    __slots__ = ("_before", "_inodes")

    def __init__(self, paths: Iterable[str], *, inodes: bool = False) -> None:
        self._inodes = inodes
        self._before = {path: self._stamp(path) for path in paths}

    def changes(self) -> Iterator[tuple[str, str]]:
        """Return each file that was changed since, and how."""
        for path, before in self._before.items():
            now = self._stamp(path)
            if now == before:
                continue
            if now is None or before is None:
                yield path, "it is gone" if now is None else "it was not there"
            elif now[0] != before[0]:
                yield path, f"it was {before[0]} bytes, and is {now[0]}"
            else:
                yield path, "it was written again"

    def _stamp(self, path: str) -> _Stamp:
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return None
        return found.st_size, found.st_mtime_ns, found.st_ino if self._inodes else 0
