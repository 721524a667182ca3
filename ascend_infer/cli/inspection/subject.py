"""What a path leads to: a model directory with its version and files, or one bare model file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ascend_infer.cli.inspection.described_file import DescribedFile, describe_file
from ascend_infer.config.platforms import find_platform
from ascend_infer.errors import ModelNotFoundError
from ascend_infer.model_directory import ModelDirectory

__all__ = ["Subject", "open_subject"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A model on disk, its files read.

    Attributes
    ----------
    path : Path
        As it was given.
    kind : {"model directory", "version directory", "model file"}
    name : str
    directory : ModelDirectory or None
        None for a bare file.
    version : int or None
    primary : DescribedFile or None
        The file that the configuration is completed from: its own kind's, or else the twin. None where what
        runs is no .om or .onnx file.
    twin : DescribedFile or None
        The file of the other kind beside it.
    """

    path: Path
    kind: Literal["model directory", "version directory", "model file"]
    name: str
    directory: ModelDirectory | None
    version: int | None
    primary: DescribedFile | None
    twin: DescribedFile | None = None

    @property
    def files(self) -> tuple[DescribedFile, ...]:
        """The files that are there."""
        return tuple(file for file in (self.primary, self.twin) if file is not None)


def open_subject(path: Path, version: str | None, allow_paths: Sequence[str]) -> Subject:
    """Find and read what is at a path.

    Raises
    ------
    ModelNotFoundError, ConfigError, ModelFileError
    """
    if path.is_file():
        return _bare_file(path, version)
    directory = ModelDirectory.open(path, allow_paths=allow_paths)
    number = directory.resolve_version(version)
    kind: Literal["model directory", "version directory"] = (
        "model directory" if directory.pinned is None else "version directory"
    )
    entry = find_platform(directory.config)
    runtime = entry.runtime if entry is not None else ""
    if runtime in ("python", "ensemble"):
        return Subject(path, kind, directory.name, directory, number, None)
    order = (".onnx", ".om") if runtime == "onnx" else (".om", ".onnx")
    found = [directory.model_file(number, suffix) for suffix in order]
    described = [describe_file(file.path) for file in found if file.exists]
    if not described:
        own = directory.model_file(number)
        if not own.exists:
            what = "is a link whose target is missing" if os.path.islink(own.path) else "is not there"
            raise ModelNotFoundError(
                f"model {directory.name!r} version {number} has no model file: {own.path} {what}",
                path=str(own.path),
            )
    first, second, *_ = (*described, None, None)
    return Subject(path, kind, directory.name, directory, number, first, second)


def _bare_file(path: Path, version: str | None) -> Subject:
    if path.name == "config.pbtxt":
        raise ModelNotFoundError(
            f"{path} is a configuration; give its directory: {path.parent}", path=str(path)
        )
    if version is not None:
        raise ModelNotFoundError(
            f"{path} is a model file, which has no versions; leave out --version {version}", path=str(path)
        )
    return Subject(path, "model file", path.stem, None, None, describe_file(path))
