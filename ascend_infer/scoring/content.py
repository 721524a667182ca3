"""What a model is, by its bytes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from ascend_infer.config.version_folders import is_version
from ascend_infer.errors import ScoringSourceError
from ascend_infer.scoring.model import ScoredSession

__all__ = ["model_content", "model_files"]

#: Beside the versions' folders: what a configuration names in them.
_NAMED_FOLDERS = ("warmup", "initial_state", "configs")


def model_content(session: ScoredSession) -> dict[str, str]:
    """Return the SHA-256 of each file that decides what comes out: the version's folder, configuration, labels.

    Of a bare model file, that file, its twin of the other kind, and files beside it with weights.

    Raises
    ------
    ScoringSourceError
        A file cannot be read any more.
    """
    path = Path(session.path)
    try:
        if path.is_file():
            return {item.name: _sum(item) for item in _bare(path)}
        root, version = _folders(path, session.version)
        files = [item for item in _below(version) if item.is_file()]
        found = {os.path.join(version.name, os.path.relpath(item, version)): _sum(item) for item in files}
        for name in ["config.pbtxt", *(output.label_filename for output in session.config.output)]:
            if name and (root / name).is_file():
                found[name] = _sum(root / name)
        return found
    except OSError as error:
        raise ScoringSourceError(
            f"model {error.filename or path}: {error.strerror or error}", source=str(error.filename or path)
        ) from error


def model_files(session: ScoredSession) -> Iterator[str]:
    """Return the paths of the files of a model, those of its other versions too, and the folder that it is opened by.

    Of a bare model file, what :func:`model_content` counts.
    """
    path = Path(session.path)
    if path.is_file():
        yield from map(str, _bare(path))
        return
    yield str(path)
    root, _ = _folders(path, session.version)
    config = session.config
    for name in ["config.pbtxt", *(output.label_filename for output in config.output)]:
        if name:
            yield str(root / name)
    for folder in sorted(item for item in root.iterdir() if item.is_dir()):
        if folder.name in _NAMED_FOLDERS or is_version(folder.name):
            yield from map(str, _below(folder))
            for name in (config.default_model_filename, *config.cc_model_filenames.values()):
                if name:
                    yield str(folder / name)


def _bare(path: Path) -> Iterator[Path]:
    yield path
    for twin in (path.with_suffix(".onnx"), path.parent / "model.onnx"):
        if path.suffix == ".om" and twin.is_file():
            yield twin
    # Where exporters put weights that do not fit: model.onnx.data, model.onnx_data, model.data.
    for other in sorted(path.parent.glob("*data")):
        if other.is_file() and other.name.startswith(path.stem):
            yield other


def _folders(path: Path, version: int | None) -> tuple[Path, Path]:
    """Return the model's folder and the one of its version; the path may be either."""
    for item in sorted(path.iterdir()):
        if item.is_dir() and item.name.isdecimal() and int(item.name) == version:
            return path, item
    return path.parent, path


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            yield Path(place, name)


def _sum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
