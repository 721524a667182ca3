"""Pictures in a folder, or that a pattern matches."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.rows import Row
from ascend_infer.scoring.sources.found_files import PICTURES, TABLES
from ascend_infer.scoring.sources.source import digest_of

__all__ = ["Pictures"]


class Pictures:
    """The files of a folder and the folders in it, links to folders included, or of a pattern; sorted by path.

    Rows are named by the path below the folder, or as the pattern has it.

    Parameters
    ----------
    path : str
        A folder, or a pattern such as ``"photos/**/*.jpg"``.
    names : list of bytes
        What was found there, sorted; kept as it is.

    Raises
    ------
    InvalidOptionError
        Nothing is there.
    """

    numbered = False
    checked = True
    base = ""

    def __init__(self, path: str, names: list[bytes]) -> None:
        self.name = path
        self._folder = path if os.path.isdir(path) else ""
        if not names:
            what = "files"
            if self._folder:
                what = f"a folder with pictures ({', '.join(PICTURES)}) or tables ({', '.join(TABLES)})"
            raise InvalidOptionError(
                f"source {path}: got nothing, expected {what}; nothing below it is one",
                option="source",
                got=path,
            )
        self._names = names
        self.total: int | None = len(names)

    def identity(self) -> dict[str, Any]:
        """Return the number of files and a digest over names, sizes and times."""
        return {"kind": "pictures", "files": len(self._names), "digest": digest_of(self.listing())}

    def listing(self) -> Iterator[str]:
        """Return each file's name, size and time of change."""
        for name in map(os.fsdecode, self._names):
            try:
                found = os.stat(os.path.join(self._folder, name))
                yield f"{name}\t{found.st_size}\t{found.st_mtime_ns}"
            except OSError:
                yield f"{name}\t-\t-"  # a link that leads nowhere, or gone since: said when its row comes

    def places(self) -> Iterator[str]:
        """Return the files' paths."""
        for name in map(os.fsdecode, self._names):
            yield os.path.join(self._folder, name)

    def rows(self, start: int) -> Generator[Row, None, None]:
        """Give names with their paths; the files are opened by whoever decodes them."""
        for index in range(start, len(self._names)):
            name = os.fsdecode(self._names[index])
            yield Row(index, name, os.path.join(self._folder, name))
