"""What a path leads to that can be compiled: an .onnx file and its configuration."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_infer import onnx_file
from ascend_infer.config import ModelConfig
from ascend_infer.config.completion import complete
from ascend_infer.config.tensor_config import ModelInput, ModelOutput
from ascend_infer.errors import ModelNotFoundError
from ascend_infer.model_directory import ModelDirectory

__all__ = ["CompileSubject", "find_subject"]


@dataclass(frozen=True, slots=True)
class CompileSubject:
    """An .onnx file, and its configuration with everything filled in."""

    onnx: Path
    config: ModelConfig


def find_subject(
    path: str | os.PathLike[str],
    *,
    version: int | str | None = None,
    allow_paths: Sequence[str | os.PathLike[str]] = (),
) -> CompileSubject:
    """Find the .onnx file of a model directory, a version directory or a path of its own.

    Raises
    ------
    ModelNotFoundError, ModelFileError, ConfigError
    """
    given = Path(path)
    if given.is_file():
        spec = onnx_file.read(given).spec
        bare = ModelConfig(
            name=given.stem,
            input=tuple(ModelInput(name=tensor.name) for tensor in spec.inputs),
            output=tuple(ModelOutput(name=tensor.name) for tensor in spec.outputs),
        )
        return CompileSubject(given, complete(bare, spec).config)
    directory = ModelDirectory.open(given, allow_paths=allow_paths)
    number = directory.resolve_version(version)
    file = directory.model_file(number, ".onnx")
    if not file.exists:
        raise ModelNotFoundError(
            f"model {directory.name!r} version {number}: {file.path} is not there, and only .onnx models are "
            "compiled",
            path=str(file.path),
        )
    spec = onnx_file.read(file.path).spec
    return CompileSubject(file.path, complete(directory.config, spec, parsed=directory.parsed).config)
