"""Pictures in a folder, or that a pattern matches."""

from __future__ import annotations

import os
from array import array
from collections.abc import Generator, Iterator
from typing import Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.rows import Row
from ascend_infer.scoring.sources.folders import folders_below, matches
from ascend_infer.scoring.sources.source import digest_of, source_error

__all__ = ["SUFFIXES", "Pictures"]

#: What is taken for a picture in a folder, in either case; a pattern may match any name.
SUFFIXES = (
    ".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".jp2", ".avif",
)  # fmt: skip


class _Names:
    """Sorted names in little memory: a million of them are two objects."""

    def __init__(self, names: list[str]) -> None:
        names.sort()
        encoded = [os.fsencode(name) for name in names]
        self._ends = array("Q")
        end = 0
        for name in encoded:
            end += len(name)
            self._ends.append(end)
        self._text = b"".join(encoded)

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> str:
        begin = self._ends[index - 1] if index else 0
        return os.fsdecode(self._text[begin : self._ends[index]])


class Pictures:
    """The files of a folder and the folders in it, links to folders included, or of a pattern; sorted by path.

    Rows are named by the path below the folder, or as the pattern has it.

    Parameters
    ----------
    path : str
        A folder, or a pattern such as ``"photos/**/*.jpg"``.

    Raises
    ------
    InvalidOptionError
        Nothing is there.
    ScoringSourceError
        The folder cannot be read.
    """

    numbered = False
    checked = True
    base = ""

    def __init__(self, path: str) -> None:
        self.name = path
        self._folder = path if os.path.isdir(path) else ""
        if self._folder:
            found = list(_below(path))
        else:
            found = [name for name in dict.fromkeys(matches(path)) if not os.path.isdir(name)]
        if not found:
            what = f"a folder with pictures ({', '.join(SUFFIXES)})" if self._folder else "files"
            raise InvalidOptionError(
                f"source {path}: got nothing, expected {what}; nothing below it is one",
                option="source",
                got=path,
            )
        self._names = _Names(found)
        self.total: int | None = len(self._names)

    def identity(self) -> dict[str, Any]:
        """Return the number of files and a digest over names, sizes and times."""
        return {"kind": "pictures", "files": len(self._names), "digest": digest_of(self.listing())}

    def listing(self) -> Iterator[str]:
        """Return each file's name, size and time of change."""
        for name in self._names:
            try:
                found = os.stat(os.path.join(self._folder, name))
                yield f"{name}\t{found.st_size}\t{found.st_mtime_ns}"
            except OSError:
                yield f"{name}\t-\t-"  # a link that leads nowhere, or gone since: said when its row comes

    def places(self) -> Iterator[str]:
        """Return the files' paths."""
        for name in self._names:
            yield os.path.join(self._folder, name)

    def rows(self, start: int) -> Generator[Row, None, None]:
        """Give names with their paths; the files are opened by whoever decodes them."""
        for index in range(start, len(self._names)):
            name = self._names[index]
            yield Row(index, name, os.path.join(self._folder, name))


def _below(folder: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise source_error(os.fsdecode(error.filename or folder), None, error) from error

    for place, files in folders_below(folder, refuse):
        inside = os.path.relpath(place, folder)
        for name in files:
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                yield name if inside == "." else os.path.join(inside, name)
