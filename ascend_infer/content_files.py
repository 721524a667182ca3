"""The files of a model that decide what comes out of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ascend_infer import onnx_file
from ascend_infer.errors import ModelFileError

__all__ = ["content_files", "files_below", "version_folder"]


def content_files(path: Path, version: int | None, labels: Iterable[str]) -> dict[str, Path]:
    """Return the files of a version: its folder's, weights that lie elsewhere, configuration and labels.

    Of a bare model file, that file, its twin of the other kind, and the files with its weights.

    Parameters
    ----------
    path : Path
        As a session is opened by it.
    version : int or None
    labels : iterable of str
        File names in the configuration; empty ones are passed over.

    Returns
    -------
    dict of str to Path
        By name, which is the same wherever the model lies.

    Raises
    ------
    OSError
    """
    if path.is_file():
        found = {item.name: item for item in _bare(path)}
        for item in tuple(found.values()):
            found |= _weights(item)
        return found
    root, folder = version_folder(path, version)
    found = {}
    for item in files_below(folder):
        if item.is_file():
            found[os.path.join(folder.name, os.path.relpath(item, folder))] = item
            # Those behind a link to a folder are not below.
            found |= {os.path.join(folder.name, name): file for name, file in _weights(item, folder).items()}
    for name in ["config.pbtxt", *labels]:
        if name and (root / name).is_file():
            found[name] = root / name
    return found


def version_folder(path: Path, version: int | None) -> tuple[Path, Path]:
    """Return the model's folder and the one of its version; the path may be either."""
    for item in sorted(path.iterdir()):
        if item.is_dir() and item.name.isdecimal() and int(item.name) == version:
            return path, item
    return path.parent, path


def files_below(folder: Path) -> Iterator[Path]:
    """Return the files in a folder and the folders in it, sorted."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            yield Path(place, name)


def _bare(path: Path) -> Iterator[Path]:
    yield path
    for twin in (path.with_suffix(".onnx"), path.parent / "model.onnx"):
        if path.suffix == ".om" and twin.is_file():
            yield twin


def _weights(model: Path, start: Path | None = None) -> dict[str, Path]:
    """Return the files beside a model that hold its weights."""
    if model.suffix != ".onnx":
        return {}
    try:
        names = onnx_file.read(model).external_data
    except ModelFileError:
        return {}  # not one that runs
    files = [model.parent / name for name in names]
    return {os.path.relpath(file, start or model.parent): file for file in files if file.is_file()}
