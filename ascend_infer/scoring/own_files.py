"""What a run reads, which its output must not take the place of."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.same_file import is_same_file
from ascend_infer.scoring.rows import Row

__all__ = ["TakenPlace"]


class TakenPlace:
    """What an output would be written over or take away, asked for or not, as it is before the run.

    Parameters
    ----------
    out : str
        A file is replaced; a folder is too, with everything in it. ``OUT.parts`` is cleared in any case.
    is_folder : bool

    Attributes
    ----------
    named : bool
        A row named what would be lost.
    """

    def __init__(self, out: str, is_folder: bool) -> None:
        self._out = out
        parts = f"{os.path.abspath(out)}.parts"
        # A folder that is not there yet holds nothing that could be lost.
        there = [path for path in ((out, parts) if is_folder else (parts,)) if os.path.isdir(path)]
        self._cleared = {shown for path in there for shown in (os.path.abspath(path), os.path.realpath(path))}
        self._replaced = not is_folder and os.path.lexists(out)
        self._folders: dict[str, str] = {}
        self.named = False

    def refuse(self, what: str, paths: Iterable[str]) -> None:
        """Refuse the output where one of these files would be lost.

        Parameters
        ----------
        what : str
            The source or the model.
        paths : iterable of str

        Raises
        ------
        InvalidOptionError
        """
        if not self._cleared and not self._replaced:
            return
        for path in paths:
            if self._replaces(path):
                raise self._refused(f"is a file of the {what}, {path}")
            if self._clears(path):
                raise self._refused(f"would replace a folder with files of the {what} in it, such as {path}")

    def watched(
        self, rows: Generator[Row, None, None], files: Callable[[Any], Iterable[str]]
    ) -> Generator[Row, None, None]:
        """Give the rows, and end the run at one that names what would be lost: a table's are not known before.

        Parameters
        ----------
        rows : generator of Row
            Closed at the end, whatever that is.
        files : callable
            From a row's item to the paths in it.

        Raises
        ------
        InvalidOptionError
            While the rows are read, and so before the output is put in its place.
        """
        return self._watched(rows, files) if self._cleared or self._replaced else rows

    def _watched(
        self, rows: Generator[Row, None, None], files: Callable[[Any], Iterable[str]]
    ) -> Generator[Row, None, None]:
        with closing(rows):
            yield from self._checked(rows, files)

    def _checked(self, rows: Iterable[Row], files: Callable[[Any], Iterable[str]]) -> Iterator[Row]:
        for row in rows:
            for path in files(row.item):
                replaces = self._replaces(path)
                if not replaces and not self._clears(path):
                    continue
                self.named = True
                what = f"what row {row.index} ({row.id}) names"
                raise self._refused(
                    f"is {what}, {path}" if replaces else f"would replace a folder with {what} in it, {path}"
                )
            yield row

    def _replaces(self, path: str) -> bool:
        return self._replaced and is_same_file(self._out, path)

    def _clears(self, path: str) -> bool:
        if not self._cleared:
            return False
        return any(_is_in(place, folder) for place in self._places(path) for folder in self._cleared)

    def _places(self, path: str) -> set[str]:
        """Return the path, where the name in it is, and the file that it leads to."""
        above, name = os.path.split(os.path.abspath(path))
        if above not in self._folders:
            self._folders[above] = os.path.realpath(above)
        place = os.path.join(self._folders[above], name)
        return {
            os.path.join(above, name),
            place,
            os.path.realpath(place) if os.path.islink(place) else place,
        }

    def _refused(self, why: str) -> InvalidOptionError:
        return InvalidOptionError(
            f"out: {self._out} {why}, which would be lost; give another name", option="out", got=self._out
        )


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
