"""What a run reads, which its output must not take the place of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from ascend_infer.errors import InvalidOptionError
from ascend_infer.same_file import is_same_file

__all__ = ["refuse_own_files"]


def refuse_own_files(out: str, is_folder: bool, read: Mapping[str, Iterable[str]]) -> None:
    """Refuse an output that would be written over what the run reads, or would take it away, asked for or not.

    Parameters
    ----------
    out : str
        A file is replaced; a folder is too, with everything in it. ``OUT.parts`` is cleared in any case.
    is_folder : bool
    read : mapping of str to iterable of str
        Paths by what they are.

    Raises
    ------
    InvalidOptionError
    """
    parts = f"{os.path.abspath(out)}.parts"
    # A folder that is not there yet holds nothing that could be lost.
    there = [path for path in ((out, parts) if is_folder else (parts,)) if os.path.isdir(path)]
    cleared = {shown for path in there for shown in (os.path.abspath(path), os.path.realpath(path))}
    replaced = not is_folder and os.path.lexists(out)
    if not cleared and not replaced:
        return
    folders: dict[str, str] = {}
    for what, paths in read.items():
        for path in paths:
            if replaced and is_same_file(out, path):
                raise _refused(
                    out, f"is the {what} itself" if what == "model" else f"is a file of the {what}, {path}"
                )
            if any(_is_in(place, folder) for place in _places(path, folders) for folder in cleared):
                raise _refused(out, f"would replace a folder with files of the {what} in it, such as {path}")


def _places(path: str, folders: dict[str, str]) -> set[str]:
    """Return the path, where the name in it is, and the file that it leads to; ``folders`` keeps what was found out."""
    above, name = os.path.split(os.path.abspath(path))
    if above not in folders:
        folders[above] = os.path.realpath(above)
    place = os.path.join(folders[above], name)
    return {os.path.join(above, name), place, os.path.realpath(place) if os.path.islink(place) else place}


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _refused(out: str, why: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"out: {out} {why}, which would be lost; give another name", option="out", got=out
    )
