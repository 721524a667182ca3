"""Which files a folder or a pattern stands for: pictures, or tables of one form."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import groupby

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.run_files import RunFiles
from ascend_infer.scoring.sources.folders import folders_below, matches
from ascend_infer.scoring.sources.source import source_error

__all__ = ["PICTURES", "TABLES", "has_letters", "in_folder", "matched"]

#: What is taken for a picture in a folder, in either case; a pattern may match any name.
PICTURES = (
    ".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".jp2", ".avif",
)  # fmt: skip
#: What is taken for a table, and what pyarrow calls its form.
TABLES = {".parquet": "parquet", ".arrow": "ipc", ".feather": "feather"}

_PICTURES = tuple(suffix.encode() for suffix in PICTURES)
_TABLES = tuple(suffix.encode() for suffix in TABLES)


def in_folder(folder: str, own: RunFiles) -> tuple[list[bytes], list[str]]:
    """Return the pictures of a folder and those in it, or its tables; one of the two is empty.

    Parameters
    ----------
    folder : str
    own : RunFiles
        Left out.

    Returns
    -------
    pictures : list of bytes
        Paths below the folder, sorted. Not texts: there may be millions.
    tables : list of str
        Paths, sorted, of one form. Names with a point or an underscore in front are not for readers.

    Raises
    ------
    InvalidOptionError
        It holds both, or tables of several forms.
    ScoringSourceError
        It cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise source_error(os.fsdecode(error.filename or folder), None, error) from error

    pictures: list[bytes] = []
    tables: list[str] = []
    any_tables = False
    top = os.fsencode(folder)
    for place, names in folders_below(top, refuse):
        inside = os.path.relpath(place, top)
        for name in own.others(place, names):
            lower = name.lower()
            if lower.endswith(_PICTURES) and not name.startswith(b"."):
                pictures.append(name if inside == b"." else os.path.join(inside, name))
            elif lower.endswith(_TABLES):
                any_tables = True
    if any_tables:  # the walk leaves out other folders, so links may lead elsewhere
        tables = sorted(
            os.path.join(place, name)
            for place, names in folders_below(folder, refuse, hidden=(".", "_"))
            for name in own.others(place, names)
            if name.lower().endswith(tuple(TABLES)) and not name.startswith((".", "_"))
        )
    if pictures:
        # What a run wrote beside its pictures is no source.
        tables = [path for path in tables if not os.path.lexists(f"{path}.manifest.json")]
    pictures.sort()
    _refuse_mixed(folder, pictures, tables)
    return pictures, tables


def matched(pattern: str, own: RunFiles) -> tuple[list[bytes], list[str]]:
    """Return the files that a pattern matches: its tables where there are any, else all of them as pictures.

    Raises
    ------
    InvalidOptionError
        As of :func:`in_folder`.
    """
    found = [os.fsencode(path) for path in matches(pattern) if path not in own and not os.path.isdir(path)]
    found.sort()
    found = [path for path, _ in groupby(found)]
    tables = [os.fsdecode(path) for path in found if path.lower().endswith(_TABLES)]
    if not tables:
        return found, []
    _refuse_mixed(pattern, [path for path in found if path.lower().endswith(_PICTURES)], tables)
    return [], tables


def has_letters(path: str) -> bool:
    """Tell whether a path is a pattern, by its letters."""
    return any(letter in path for letter in "*?[")


def _refuse_mixed(source: str, pictures: Sequence[bytes], tables: Iterable[str]) -> None:
    kinds = {"pictures": os.fsdecode(pictures[0])} if pictures else {}
    for path in tables:
        kinds.setdefault(f"{os.path.splitext(path)[1].lower()} tables", path)
    if len(kinds) > 1:
        listed = " and ".join(f"{kind} (such as {path})" for kind, path in kinds.items())
        raise InvalidOptionError(
            f"source {source}: got {listed}, expected one kind; say which with a pattern, such as "
            f"{os.path.join(source if os.path.isdir(source) else os.path.dirname(source), '**', '*.parquet')}",
            option="source",
            got=source,
        )
