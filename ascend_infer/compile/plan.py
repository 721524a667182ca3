"""What compiling a model would be: its command, its place in the cache, what there is to know of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_infer import onnx_file
from ascend_infer.compile.cache import CacheEntry, cache_folder, content_key
from ascend_infer.compile.command import AtcCommand
from ascend_infer.compile.find_atc import Atc, find_atc
from ascend_infer.compile.input_shapes import compiled_shapes
from ascend_infer.compile.options import atc_options
from ascend_infer.config import ModelConfig
from ascend_infer.doctor.environment import Environment
from ascend_infer.errors import InvalidOptionError, ModelFileError, ModelLoadError

__all__ = ["CompilePlan", "plan_compile"]


@dataclass(frozen=True, slots=True)
class CompilePlan:
    """What compiling a model would be.

    Attributes
    ----------
    command : AtcCommand
    atc : Atc or None
        None where no compiler was found.
    cann_version : str
    entry : CacheEntry
        Where the result is, or will be.
    notes : tuple of str
        What a user should know, each in a sentence.
    """

    command: AtcCommand
    atc: Atc | None
    cann_version: str
    entry: CacheEntry
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The command as one types it in a shell, writing ``model.om`` where one stands."""
        return self.command.text(self.atc.path if self.atc is not None else "atc")


def plan_compile(
    onnx_path: str | os.PathLike[str],
    *,
    config: ModelConfig | None = None,
    soc: str,
    cann_version: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    atc: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    allow_paths: Sequence[str | os.PathLike[str]] = (),
    environment: Environment | None = None,
    need_atc: bool = True,
) -> CompilePlan:
    """Work out how a model is compiled; compiles nothing.

    Parameters are :func:`compile_onnx`'s, besides:

    need_atc : bool
        Whether it is an error that no compiler is here.

    Notes
    -----
    Reads the whole model, for its key in the cache.

    Raises
    ------
    ModelFileError
        The .onnx file is none, or has inputs that are no tensors.
    ModelLoadError
        No compiler, or a file that cannot be read.
    ConfigError, InvalidOptionError
        Options that are none.
    """
    environment = environment or Environment.current()
    path = Path(os.path.abspath(os.fsdecode(onnx_path)))
    if not isinstance(soc, str) or not soc or not soc.isprintable() or " " in soc:
        raise InvalidOptionError(
            f"soc: got {soc!r}, expected the chip's name, such as 'Ascend310P3' (npu-smi info shows it)",
            option="soc",
            got=soc,
        )
    described = onnx_file.read(path)
    if described.other_inputs:
        name, kind = next(iter(described.other_inputs.items()))
        reason = f"input {name!r} is a {kind}; atc compiles tensors only"
        raise ModelFileError(f"{path}: {reason}", path=str(path), reason=reason)
    chosen = atc_options(config, model_folder(path), options, allow_paths)
    shapes = compiled_shapes(described.spec.inputs, config, chosen)
    command = AtcCommand(path, soc, {**shapes.options, **chosen})
    try:
        found = find_atc(environment, atc, command=command.text())
    except ModelLoadError:
        if need_atc or atc is not None:
            raise
        found = None
    version = cann_version or (found.version if found is not None else "unknown")
    key = content_key(command, version, described.external_data)
    entry = CacheEntry.of(cache_folder(environment.variables, cache_dir), path, key)
    return CompilePlan(command, found, version, entry, shapes.notes)


def model_folder(onnx: Path) -> Path:
    """Return the model directory of a file: above a numbered version folder, else its own folder."""
    return onnx.parent.parent if onnx.parent.name.isdigit() else onnx.parent
