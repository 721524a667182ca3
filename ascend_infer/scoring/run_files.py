"""What a run writes beside or below its source, which is not of the source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import AnyStr

from ascend_infer.errors import ResumeError
from ascend_infer.same_file import is_same_file
from ascend_infer.scoring.manifest import read_manifest

__all__ = ["RunFiles"]


class RunFiles:
    """An output, its manifest and its parts, so that a folder they lie in has the same files in the next call.

    What is in the output's place counts once a manifest says that a run made it: until then it is somebody's file.

    Parameters
    ----------
    out : str or None
        None where nothing is written.
    """

    def __init__(self, out: str | None = None) -> None:
        path = os.path.abspath(out) if out is not None else ""
        self._folder, name = os.path.split(path)
        self._names: frozenset[str] = frozenset()
        if name:
            manifest = f"{name}.manifest.json"
            made = _is_manifest(os.path.join(self._folder, manifest))
            self._names = frozenset(
                {manifest, f"{manifest}.tmp", f"{name}.parts", *((name,) if made else ())}
            )
        self._as_bytes = frozenset(map(os.fsencode, self._names))

    def __contains__(self, path: str) -> bool:
        """Tell whether a path is, or is below, one of them."""
        if not any(name in path for name in self._names):
            return False
        while True:
            above, name = os.path.split(path)
            if name in self._names and is_same_file(above or os.curdir, self._folder):
                return True
            if above == path:
                return False
            path = above

    def others(self, place: AnyStr, names: Iterable[AnyStr]) -> Iterator[AnyStr]:
        """Give the names of a folder's files that are not among them."""
        folder = os.fsdecode(place)
        if folder in self:
            return
        own = self._as_bytes if isinstance(place, bytes) else self._names
        for name in names:
            if name not in own or not is_same_file(folder, self._folder):
                yield name


def _is_manifest(path: str) -> bool:
    try:
        return read_manifest(path) is not None
    except ResumeError:
        return False  # refused later, by whoever goes on with it
