"""What a session's path leads to: the model file, its configuration, its labels."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_infer import om, onnx_file
from ascend_infer.config import ModelConfig
from ascend_infer.config.member_path import PathEscapeError, member_path
from ascend_infer.config.parse import ParsedConfig
from ascend_infer.config.platforms import find_platform
from ascend_infer.config.tensor_config import ModelInput, ModelOutput
from ascend_infer.diagnostic import Diagnostic
from ascend_infer.errors import ModelLoadError, ModelNotFoundError
from ascend_infer.model_directory import ModelDirectory
from ascend_infer.options import SessionOptions

__all__ = ["ModelSource", "find_source"]


@dataclass(frozen=True, slots=True)
class ModelSource:
    """One version of one model on disk.

    Attributes
    ----------
    name : str
    version : int or None
        None for a bare model file.
    file : Path
        The ``.onnx`` or ``.om`` file to run.
    to_compile : bool
        ``file`` is an ``.onnx`` and the device runs ``.om`` only.
    config : ModelConfig
        Not yet completed from the file.
    parsed : ParsedConfig or None
        Where the configuration's fields stand.
    labels : callable
        Output's name to its labels.
    warmup_file : callable
        Name of an ``input_data_file`` to its path.
    batch_size_open : bool
        The directory's configuration states no ``max_batch_size``.
    warnings : tuple of Diagnostic
    """

    name: str
    version: int | None
    file: Path
    config: ModelConfig
    parsed: ParsedConfig | None
    labels: Callable[[str], list[str] | None]
    warmup_file: Callable[[str], Path]
    batch_size_open: bool = False
    to_compile: bool = False
    warnings: tuple[Diagnostic, ...] = ()


def find_source(options: SessionOptions, on_cpu: bool = True) -> ModelSource:
    """Find the model that the options mean.

    Parameters
    ----------
    on_cpu : bool
        Whether it is to run on the CPU, from an ``.onnx`` file; else the ``.om`` is taken, or the ``.onnx`` to be
        compiled where there is none.

    Raises
    ------
    ModelNotFoundError, ConfigError, ModelLoadError
    """
    path = Path(options.path)
    try:
        bare = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        bare = False  # said below, with what is there instead
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelNotFoundError(f"{path} cannot be read: {reason}", path=str(path)) from error
    if bare:
        return _bare(path, options.version, on_cpu)
    return _in_directory(path, options.version, options.allow_paths, on_cpu)


def _bare(path: Path, version: int | str | None, on_cpu: bool) -> ModelSource:
    if path.name == "config.pbtxt":
        raise ModelNotFoundError(
            f"{path} is a configuration; give its directory: {path.parent}", path=str(path)
        )
    if version is not None:
        raise ModelNotFoundError(
            f"{path} is a model file, which has no versions; leave out version={version!r}", path=str(path)
        )
    file = path
    if path.suffix == ".om" and on_cpu:
        twins = [twin for twin in (path.with_suffix(".onnx"), path.parent / "model.onnx") if twin.is_file()]
        if not twins:
            raise _no_twin(path, path)
        file = twins[0]
    compiled = file.suffix == ".om"
    spec = om.read(file).spec() if compiled else onnx_file.read(file).spec
    config = ModelConfig(
        name=path.stem,
        platform="ge" if compiled else "onnxruntime_onnx",
        backend="" if compiled else "onnxruntime",
        input=tuple(ModelInput(name=tensor.name) for tensor in spec.inputs),
        # The names that the ONNX model had, where an .om keeps them.
        output=() if compiled else tuple(ModelOutput(name=tensor.name) for tensor in spec.outputs),
    )
    return ModelSource(
        path.stem,
        None,
        file,
        config,
        None,
        lambda _: None,
        lambda name: path.parent / name,
        to_compile=not compiled and not on_cpu,
    )


def _in_directory(
    path: Path, version: int | str | None, allow_paths: Sequence[str], on_cpu: bool
) -> ModelSource:
    directory = ModelDirectory.open(path, allow_paths=allow_paths)
    number = directory.resolve_version(version)
    entry = find_platform(directory.config)
    if entry is not None and entry.runtime in ("python", "ensemble"):
        raise ModelLoadError(
            f"model {directory.name!r}: {entry.backend or entry.platform} models do not run in this version of "
            "ascend_infer; it runs .onnx and .om models",
            path=str(directory.path),
        )
    _refuse_what_needs_a_scheduler(directory)
    wanted = directory.model_file(number)
    compiled = directory.model_file(number, ".om")
    twin = directory.model_file(number, ".onnx")
    chosen = twin if on_cpu or not compiled.exists else compiled
    if not chosen.exists:
        if wanted.exists:
            raise _no_twin(wanted.path, directory.version_path(number))
        raise ModelNotFoundError(
            f"model {directory.name!r} version {number}: {wanted.path} is not there"
            + _what_is_there(directory.version_path(number), wanted.path),
            path=str(wanted.path),
        )
    parsed = directory.parsed
    known = {output.name for output in directory.config.output}

    def labels(output: str) -> list[str] | None:
        return directory.labels(output) if output in known else None

    for output in known:
        labels(output)  # a missing label file is said now, not with the first result
    return ModelSource(
        directory.name,
        number,
        chosen.path,
        directory.config,
        parsed,
        labels,
        lambda name: _warmup_file(directory, name),
        parsed.position("max_batch_size") is None,
        to_compile=chosen is twin and not on_cpu,
        warnings=directory.warnings,
    )


def _warmup_file(directory: ModelDirectory, name: str) -> Path:
    try:
        return member_path(directory.path, directory.path / "warmup", name, directory.allow_paths)
    except PathEscapeError as error:
        raise ModelLoadError(
            f"model {directory.name!r}: the warm-up data file {name!r} is refused: {error}",
            path=str(directory.path),
        ) from error


def _refuse_what_needs_a_scheduler(directory: ModelDirectory) -> None:
    config = directory.config
    needed = {
        "sequence_batching": config.sequence_batching is not None,
        "model_transaction_policy.decoupled": config.model_transaction_policy is not None
        and config.model_transaction_policy.decoupled,
    }
    for field, stated in needed.items():
        if stated:
            raise ModelLoadError(
                f"model {directory.name!r}: its configuration has {field}, which this version of ascend_infer "
                "cannot run",
                path=str(directory.path),
            )


def _no_twin(model: Path, folder: Path) -> ModelLoadError:
    kind = model.suffix.lstrip(".") or "this"
    return ModelLoadError(
        f"{model}: a .{kind} file does not run on the CPU, and there is no model.onnx beside it. Export the model "
        f"to ONNX and put it at {folder if folder.is_dir() else model.parent}/model.onnx",
        path=str(model),
    )


def _what_is_there(folder: Path, wanted: Path) -> str:
    if os.path.islink(wanted):
        return f": it is a link to {os.readlink(wanted)}, which is missing"
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        return f"; its folder cannot be read: {error.strerror}"
    if not names:
        return "; the version folder is empty"
    onnx = [name for name in names if name.endswith(".onnx")]
    if "model.onnx" in onnx:
        return (
            '; model.onnx is: leave default_model_filename out of config.pbtxt, or write "model.onnx" there'
        )
    if onnx:
        return (
            f'; {onnx[0]} is: rename it to model.onnx, or write default_model_filename: "{onnx[0]}" '
            "in config.pbtxt"
        )
    return f"; the folder holds {', '.join(names[:8])}"
