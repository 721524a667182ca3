"""The model files that a path stands for: itself, or the newest version of each model in a directory."""

from __future__ import annotations

from pathlib import Path

__all__ = ["newest_model_files"]

_SUFFIXES = (".om", ".onnx")
_MAX_MODELS = 64


def newest_model_files(path: Path) -> tuple[Path, ...]:
    """Return the .om and .onnx files of a file, a model directory, one version's folder, or a repository.

    Of each model only the version with the highest number counts. A folder that cannot be read has none.
    """
    if not path.is_dir():
        return (path,)
    own = _newest_version(path) or _files(path)
    if own:
        return own
    models = [folder for folder in _listed(path) if folder.is_dir()][:_MAX_MODELS]
    return tuple(file for folder in models for file in _newest_version(folder))


def _newest_version(model: Path) -> tuple[Path, ...]:
    versions = sorted(
        (folder for folder in _listed(model) if folder.name.isdecimal() and folder.is_dir()),
        key=lambda folder: int(folder.name),
        reverse=True,
    )
    for version in versions:
        files = _files(version)
        if files:
            return files
    return ()


def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(file for file in _listed(folder) if file.suffix in _SUFFIXES and file.is_file())


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
