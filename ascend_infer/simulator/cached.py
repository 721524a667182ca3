"""Compiling an ONNX model for the simulated card, once, as ``atc`` would for a real one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ascend_infer import onnx_file
from ascend_infer._version import __version__
from ascend_infer.compile.cache import CacheEntry, cache_folder, content_key
from ascend_infer.compile.command import AtcCommand
from ascend_infer.compile.input_shapes import compiled_shapes
from ascend_infer.compile.lock import file_lock
from ascend_infer.config import ModelConfig
from ascend_infer.doctor.bounded_process import Deadline
from ascend_infer.errors import ModelFileError, ModelLoadError
from ascend_infer.om.computed_types import check_types
from ascend_infer.simulator.compiler import compile_model
from ascend_infer.types import Gear

__all__ = ["compile_cached"]

#: Seconds that another process's compilation of the same model is waited for.
_PATIENCE = 600.0


def compile_cached(onnx: Path, config: ModelConfig) -> Path:
    """Return the simulator's .om of a model, made now unless it is in the cache.

    Sizes are those that ``atc`` would be asked for: batch gears from ``max_batch_size`` and the preferred batch sizes,
    fixed shapes where nothing is open, else dynamic shapes.

    Raises
    ------
    ModelFileError, ModelLoadError, InvalidOptionError
    """
    described = onnx_file.read(onnx)
    if not described.other_inputs:
        # Before the cache is looked into: an earlier release put such models there.
        check_types(
            f"model {config.name!r} ({onnx})" if config.name else str(onnx), str(onnx), described.spec
        )
    shapes = compiled_shapes(described.spec.inputs, config, {}).options
    command = AtcCommand(onnx, "simulator", shapes)
    external = described.external_data
    entry = CacheEntry.of(cache_folder(os.environ), onnx, content_key(command, __version__, external))
    if entry.is_whole():
        return entry.model
    try:
        entry.folder.mkdir(parents=True, exist_ok=True)
        with file_lock(entry.lock, Deadline(_PATIENCE), on_wait=lambda: None):
            if entry.is_whole():
                return entry.model
            work = entry.make_work_folder()
            try:
                _compile(onnx, work / "model.om", shapes)
                return entry.take(work / "model.om", {"onnx": str(onnx), "soc": "simulator", **shapes})
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise ModelLoadError(
            f"{onnx}: the compiled model cannot be kept in {entry.folder}: {error.strerror or error}; name another "
            "folder in ASCEND_INFER_CACHE",
            path=str(onnx),
        ) from error


def _compile(onnx: Path, target: Path, options: Mapping[str, str]) -> None:
    sizes = [int(size) for size in options.get("dynamic_batch_size", "").split(",") if size]
    stated: dict[str, list[int]] = {}
    dynamic = False
    for part in options.get("input_shape", "").split(";"):
        name, _, dims = part.rpartition(":")
        if not name:
            continue
        stated[name] = [-1 if not dim.isdigit() else int(dim) for dim in dims.split(",") if dim]
        dynamic |= -1 in stated[name] and not sizes
    try:
        compile_model(
            onnx,
            target,
            input_shapes=stated,
            gears=[Gear("batch", (size,)) for size in sizes],
            dynamic=dynamic,
        )
    except ModelFileError as error:
        if error.path == os.fspath(target) and isinstance(error.__cause__, OSError):
            raise error.__cause__ from None  # of the cache's disk, not of the model
        raise
