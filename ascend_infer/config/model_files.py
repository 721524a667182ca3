"""Which file of a version folder is the model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_infer.config.findings import Findings
from ascend_infer.config.member_path import member_path
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.normalise import normalise
from ascend_infer.config.platforms import PLATFORMS, find_platform, platform_of_file

__all__ = ["ModelFile", "backend_from_files", "find_model_file"]

_LARGE_FILE_ENDINGS = (".om", ".onnx")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """Where a model file is or should be."""

    path: Path
    exists: bool


def find_model_file(
    config: ModelConfig,
    root: Path,
    folder: Path,
    suffix: str,
    allow_paths: Sequence[str | os.PathLike[str]],
) -> ModelFile:
    """Find a version's file of a kind (``".om"``), or with an empty suffix the one the configuration names.

    Looked for: ``default_model_filename``, the same stem with the suffix, ``model`` with the suffix, and for
    the .om backends the first file with the suffix, as the GE backend takes it. The first path is returned
    when none of them exists. A name that is not of the backend's own kind (``model.plan`` for onnxruntime) has
    no twin to stand in for it: without that file there is none.

    Raises
    ------
    PathEscapeError
        When a path leads out of the model directory.
    """
    entry = find_platform(config)
    named = config.default_model_filename or (entry.filename if entry is not None else "")
    if named and entry is not None and Path(named).suffix != Path(entry.filename).suffix:
        path = member_path(root, folder, named, allow_paths)
        if not _is_there(path, folder):
            return ModelFile(path, False)
    names = _candidates(named, suffix)
    first = None
    for name in names:
        path = member_path(root, folder, name, allow_paths)
        first = first or path
        if _is_there(path, folder):
            return ModelFile(path, True)
    wanted = suffix or Path(names[0]).suffix
    default = entry is not None and config.default_model_filename in ("", entry.filename)
    if entry is not None and entry.runtime == "om" and default and wanted in _LARGE_FILE_ENDINGS:
        for name in _sorted_names(folder):
            if name.endswith(wanted):
                return ModelFile(member_path(root, folder, name, allow_paths), True)
    assert first is not None
    return ModelFile(first, False)


def _is_there(path: Path, folder: Path) -> bool:
    # "." is there too, and is no model. Some models are folders (model.savedmodel).
    return os.path.exists(path) and os.path.normpath(path) != os.path.normpath(folder)


def _candidates(named: str, suffix: str) -> list[str]:
    if not suffix:
        return [named or "model.onnx"]
    if not named or named.endswith(suffix):
        return [named or f"model{suffix}"]
    stem = named[: -len(Path(named).suffix)] if Path(named).suffix else named
    return list(dict.fromkeys([stem + suffix, f"model{suffix}"]))


def _sorted_names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def backend_from_files(
    config: ModelConfig, root: Path, versions: Iterable[int], findings: Findings
) -> ModelConfig:
    """Tell the backend from the files of a version where the configuration states neither it nor a platform.

    What cannot be told is an error in ``findings``.
    """
    if config.backend or config.platform or config.ensemble_scheduling is not None:
        return config
    if config.default_model_filename:
        entry = platform_of_file(config.default_model_filename)
        if entry is None:
            findings.error(
                "default_model_filename",
                "the backend cannot be told from this file name, and the configuration states none",
                got=f"'{config.default_model_filename}'",
                hint='add backend: "acl", "onnxruntime" or "python"',
            )
            return config
        return normalise(replace(config, backend=entry.backend))
    seen: list[str] = []
    unreadable = False
    for version in dict.fromkeys(versions):
        folder = root / str(version)
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            unreadable = True
            findings.error("", f"version folder {version} cannot be read: {error.strerror}", got=str(folder))
            continue
        seen = seen or [f"{version}/{name}" for name in names]
        for entry in PLATFORMS:
            if entry.filename and entry.filename in names:
                platform = entry.platform if entry.backend == "onnxruntime" else ""
                return normalise(replace(config, backend=entry.backend, platform=platform))
    if unreadable and not seen:
        return config  # what is in the folders is not known
    others = [name for name in seen if platform_of_file(name) is not None]
    hint = 'add backend: "acl", "onnxruntime" or "python"'
    if others:
        hint = f'rename {others[0]}, or add default_model_filename: "{others[0].partition("/")[2]}"'
    elif not seen:
        hint = "put model.om or model.onnx into the version folder 1"
    files = ", ".join(dict.fromkeys(entry.filename for entry in PLATFORMS if entry.filename))
    findings.error(
        "",
        "the backend cannot be told: the configuration states no backend and no platform, and no version "
        "holds a model file of a known name",
        got=", ".join(seen[:8]) or "no files",
        expected=f"one of {files}",
        hint=hint,
    )
    return config
