"""Checking a model repository or one model directory without loading a model.

Reads configurations and listings; model files only through the ``read_spec`` it is given. Imports no backend.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_infer.config.completion import complete
from ascend_infer.config.ensemble_graph import EnsembleMember, check_graph
from ascend_infer.config.findings import Findings
from ascend_infer.config.instance_group import ModelInstanceGroupKind
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.platforms import find_platform
from ascend_infer.config.version_folders import find_versions
from ascend_infer.diagnostic import Diagnostic
from ascend_infer.errors import AscendInferError, ConfigError, ModelNotFoundError
from ascend_infer.model_directory import ModelDirectory, examine_directory
from ascend_infer.named_files import check_named_files
from ascend_infer.types import ModelSpec

__all__ = ["lint", "lint_models"]

ReadSpec = Callable[[Path], ModelSpec]

_SPEC_SUFFIXES = (".om", ".onnx")


@dataclass(slots=True)
class _Model:
    """One model of the repository and what was found about it."""

    path: Path
    directory: ModelDirectory | None
    config: ModelConfig | None
    diagnostics: list[Diagnostic]

    def as_member(self) -> EnsembleMember:
        errors = [found.message for found in self.diagnostics if found.severity == "error"]
        versions = self.directory.selected if self.directory is not None else ()
        return EnsembleMember(self.config, versions, errors[0] if errors else None)


def lint(
    path: str | os.PathLike[str],
    *,
    read_spec: ReadSpec | None = None,
    has_npu: bool | None = None,
    allow_paths: Sequence[str | os.PathLike[str]] = (),
) -> tuple[Diagnostic, ...]:
    """Return everything that is wrong or doubtful, of all models at once.

    Parameters
    ----------
    path : path
        A model repository or one model directory. The members of an ensemble are looked for beside it.
    read_spec : callable, optional
        Reads the signature of a .om or .onnx file; each configuration is then checked against its model file.
    has_npu : bool, optional
        Whether KIND_GPU groups and gpu ids mean anything on this machine; None looks for ``/dev/davinci<n>``.
    allow_paths : sequence of paths, optional
        Folders outside a model directory in which its configuration may name files.

    Returns
    -------
    tuple of Diagnostic
        By model, errors and warnings in the file's order.

    Raises
    ------
    ModelNotFoundError
        When ``path`` does not exist, is no directory, or holds no model at all.
    """
    models = lint_models(path, read_spec=read_spec, has_npu=has_npu, allow_paths=allow_paths)
    return tuple(found for findings in models.values() for found in findings)


def lint_models(
    path: str | os.PathLike[str],
    *,
    read_spec: ReadSpec | None = None,
    has_npu: bool | None = None,
    allow_paths: Sequence[str | os.PathLike[str]] = (),
) -> dict[str, tuple[Diagnostic, ...]]:
    """Return what :func:`lint` returns, by the name of each model's folder; models without a finding included.

    Raises
    ------
    ModelNotFoundError
        As :func:`lint`.
    """
    root = Path(path)
    if has_npu is None:
        has_npu = bool(glob.glob("/dev/davinci[0-9]*"))
    places = _model_places(root)
    models: dict[str, _Model] = {}
    if not places:
        # No repository: one model, or nothing, of which the exception tells.
        models[Path(os.path.abspath(root)).name] = _examine(root, read_spec, has_npu, allow_paths)
    for place in places:
        try:
            models[place.name] = _examine(place, read_spec, has_npu, allow_paths)
        except ModelNotFoundError as error:
            findings = Findings(str(place))
            unreadable = isinstance(error.__cause__, OSError)
            hint = None if unreadable else "a repository holds model directories only"
            findings.error("", str(error).removeprefix(f"{place} "), hint=hint)
            models[place.name] = _Model(place, None, None, findings.diagnostics)
    repository = root if places else None
    _check_ensembles(models, repository, read_spec, allow_paths)
    return {name: tuple(model.diagnostics) for name, model in models.items()}


def _model_places(root: Path) -> list[Path]:
    """Return the model directories of a repository; none when ``root`` is no repository."""
    try:
        folders = find_versions(root)
    except (OSError, ValueError):
        return []
    if "config.pbtxt" in folders.files or folders.versions:
        return []
    places = [root / name for name in (*folders.folders, *folders.doubtful)]
    return sorted(places) if any(_holds_model(place) for place in places) else []


def _holds_model(place: Path) -> bool:
    try:
        folders = find_versions(place)
    except OSError:
        return False
    return "config.pbtxt" in folders.files or bool(folders.versions)


def _examine(
    place: Path, read_spec: ReadSpec | None, has_npu: bool, allow_paths: Sequence[str | os.PathLike[str]]
) -> _Model:
    directory, found = examine_directory(place, allow_paths=allow_paths)
    model = _Model(place, directory, directory.config if directory else None, list(found))
    if directory is None or directory.config.platform == "ensemble":
        return model
    findings = directory.parsed.findings()
    findings.file = findings.file or str(place)
    _check_versions(directory, findings)
    check_named_files(directory, findings)
    _check_passive(directory.config, findings)
    if not has_npu:
        _check_groups(directory.config, findings)
    model.diagnostics += findings.diagnostics
    if read_spec is not None:
        _check_against_files(model, directory, read_spec)
    return model


def _check_versions(directory: ModelDirectory, findings: Findings) -> None:
    """Check that the policy selects a version and that each has a model file."""
    there = ", ".join(map(str, directory.versions)) or "none"
    policy = directory.config.version_policy
    specific = policy.specific.versions if policy is not None and policy.specific is not None else None
    latest = policy.latest.num_versions if policy is not None and policy.latest is not None else None
    # A policy that selects nothing whatever there is has been reported with the other rules.
    if not directory.selected and specific != () and latest != 0:
        findings.error(
            "version_policy" if "version_policy" in findings.positions else "",
            "at least one version must be available under the version policy",
            got=f"versions {there}",
            hint=None if directory.versions else f"put the model file into {directory.path / '1'}",
        )
    for index, version in enumerate(specific or ()):
        if version not in directory.versions and directory.selected:
            path = f"version_policy.specific.versions[{index}]"
            findings.warning(path, f"version {version} is not there", got=f"versions {there}")
    entry = find_platform(directory.config)
    if entry is None:
        return
    for version in directory.selected:
        try:
            own = directory.model_file(version)
            twins = [directory.model_file(version, suffix) for suffix in _SPEC_SUFFIXES]
        except ConfigError as error:
            findings.diagnostics += error.diagnostics
            continue
        if own.exists or (entry.runtime != "python" and any(twin.exists for twin in twins)):
            continue
        findings.error(
            "default_model_filename",
            f"version {version} has no model file",
            got=_what_is_there(directory.version_path(version), own.path),
            expected=str(own.path),
        )


def _what_is_there(folder: Path, wanted: Path) -> str:
    if os.path.islink(wanted):
        return f"a link to {os.readlink(wanted)}, which is not there"
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        return f"a folder that cannot be read ({error.strerror})"
    return ", ".join(names[:8]) or "an empty folder"


def _check_passive(config: ModelConfig, findings: Findings) -> None:
    if config.instance_group and all(group.passive for group in config.instance_group):
        findings.warning(
            "instance_group[0].passive",
            "every instance group is passive: no instance takes requests, and a session refuses the model unless it "
            "is given instances=",
            got=True,
        )


def _check_groups(config: ModelConfig, findings: Findings) -> None:
    for index, group in enumerate(config.instance_group):
        if group.kind is ModelInstanceGroupKind.KIND_GPU:
            devices = f" (gpus {list(group.gpus)})" if group.gpus else ""
            findings.warning(
                f"instance_group[{index}].kind",
                f"instance group '{group.name}' has kind KIND_GPU{devices} but no NPU is available on this "
                f"machine: it becomes {group.count or 1} CPU instances",
            )
        elif group.gpus and group.kind is ModelInstanceGroupKind.KIND_AUTO:
            findings.warning(
                f"instance_group[{index}].gpus",
                f"instance group '{group.name}' specifies gpu ids but no NPU is available on this machine: "
                "they are ignored",
                got=list(group.gpus),
            )


def _check_against_files(model: _Model, directory: ModelDirectory, read_spec: ReadSpec) -> None:
    """Check the configuration against each .om and .onnx file of the selected versions."""
    entry = find_platform(directory.config)
    if entry is None or entry.runtime in ("python", "ensemble"):
        return
    broken = any(found.severity == "error" for found in model.diagnostics)
    for version in directory.selected:
        for suffix in _SPEC_SUFFIXES:
            try:
                file = directory.model_file(version, suffix)
            except ConfigError:
                continue  # said by _check_versions
            if not file.exists:
                continue
            try:
                spec = read_spec(file.path)
            except (AscendInferError, OSError) as error:
                findings = Findings(str(file.path))
                findings.error("", str(error))
                model.diagnostics += findings.diagnostics
                continue
            if broken:
                continue
            try:
                completed = complete(directory.config, spec, parsed=directory.parsed)
            except ConfigError as error:
                model.diagnostics += [_about(found, file.path) for found in error.diagnostics]
                continue
            model.config = completed.config
            model.diagnostics += [_about(found, file.path) for found in completed.diagnostics]


def _about(found: Diagnostic, file: Path) -> Diagnostic:
    """Say which model file a finding compares the configuration with."""
    return replace(found, message=f"{found.message} (in {file.parent.name}/{file.name})")


def _check_ensembles(
    models: dict[str, _Model],
    repository: Path | None,
    read_spec: ReadSpec | None,
    allow_paths: Sequence[str | os.PathLike[str]],
) -> None:
    """Check every ensemble against its members; without a repository they are looked for beside it."""
    others: dict[str, _Model | None] = {}

    def find(name: str) -> EnsembleMember | None:
        model = models.get(name)
        if model is None and repository is None and name and "/" not in name and name not in (".", ".."):
            if name not in others:
                others[name] = beside(name)
            model = others[name]
        return model.as_member() if model is not None else None

    def beside(name: str) -> _Model | None:
        place = Path(os.path.abspath(next(iter(models.values())).path)).parent / name
        try:
            return _examine(place, read_spec, True, allow_paths)
        except ModelNotFoundError:
            return None

    # Members before those that contain them, so that an ensemble of a broken ensemble is reported as well.
    waiting = {
        name: model.directory
        for name, model in models.items()
        if model.directory is not None and model.directory.config.ensemble_scheduling is not None
    }
    while waiting:
        ready = [name for name, directory in waiting.items() if not _members(directory) & set(waiting)]
        for name in ready or list(waiting):
            found = check_graph(waiting[name].parsed, find, tuple(sorted(models)))
            models[name].diagnostics += found
        for name in ready or list(waiting):
            del waiting[name]


def _members(directory: ModelDirectory) -> set[str]:
    scheduling = directory.config.ensemble_scheduling
    return {step.model_name for step in scheduling.step} if scheduling is not None else set()
