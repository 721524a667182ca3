"""A repository's models, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_infer.cli.inspection.described_file import read_spec
from ascend_infer.cli.inspection.served_config import complete_subject
from ascend_infer.cli.inspection.subject import open_subject
from ascend_infer.cli.inspection.tensor import dims_text
from ascend_infer.cli.printing import columns, printable, shorten
from ascend_infer.config import ModelConfig
from ascend_infer.config.tensor_config import ModelInput, ModelOutput
from ascend_infer.config.version_folders import find_versions
from ascend_infer.diagnostic import Diagnostic
from ascend_infer.errors import AscendInferError, ConfigError
from ascend_infer.lint import lint_models

__all__ = ["ListedModel", "list_repository", "listing_text", "model_folders"]

_LONG = 100


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One line: the configuration, completed, or what is wrong with the model."""

    name: str
    path: Path
    versions: tuple[int, ...] = ()
    selected: tuple[int, ...] = ()
    config: ModelConfig | None = None
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        config = self.config
        return {
            "name": self.name,
            "path": str(self.path),
            "versions": list(self.versions),
            "selected_versions": list(self.selected),
            "backend": None if config is None else config.backend,
            "max_batch_size": None if config is None else config.max_batch_size,
            "inputs": [] if config is None else [_tensor(tensor) for tensor in config.input],
            "outputs": [] if config is None else [_tensor(tensor) for tensor in config.output],
            "error": self.error or None,
        }


def model_folders(path: Path) -> list[Path]:
    """Return the model directories of a repository; none where ``path`` is no repository.

    A repository holds at least one model and is itself none; every folder in it is meant to be one.
    """
    try:
        inside = find_versions(path)
    except (OSError, ValueError):
        return []
    if "config.pbtxt" in inside.files or inside.versions:
        return []
    places = sorted(path / name for name in (*inside.folders, *inside.doubtful))
    return places if any(map(_is_model, places)) else []


def list_repository(path: Path, folders: Sequence[Path], allow_paths: Sequence[str]) -> list[ListedModel]:
    """Look at each model; what is wrong with one, as ``check`` finds it, is in its line."""
    findings = lint_models(path, read_spec=read_spec, has_npu=True, allow_paths=allow_paths)
    return [_listed(folder, findings.get(folder.name, ()), allow_paths) for folder in folders]


def listing_text(path: Path, models: Sequence[ListedModel]) -> str:
    """Return the lines that ``inspect`` prints for a repository."""
    rows: list[Sequence[object]] = [("MODEL", "VERSIONS", "BACKEND", "BATCH", "SIGNATURE")]
    for model in models:
        if model.config is None:
            rows.append((model.name, "-", "-", "-", f"error: {shorten(model.error, 2 * _LONG)}"))
            continue
        versions = ", ".join(f"{v}*" if v in model.selected else str(v) for v in model.versions)
        batch = model.config.max_batch_size or "-"
        rows.append(
            (
                model.name,
                versions or "none",
                model.config.backend or model.config.platform,
                batch,
                _signature(model.config),
            )
        )
    count = f"{len(models)} model{'s' if len(models) != 1 else ''}"
    head = f"{printable(path)}: a repository of {count} (* marks the versions that serve)"
    return "".join(f"{line}\n" for line in (head, *columns(rows)))


def _listed(folder: Path, findings: Sequence[Diagnostic], allow_paths: Sequence[str]) -> ListedModel:
    try:
        subject = open_subject(folder, None, allow_paths)
        assert subject.directory is not None
        completed = complete_subject(subject)
    except AscendInferError as error:
        return ListedModel(folder.name, folder, error=_first(error))
    errors = [found.message for found in findings if found.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return ListedModel(folder.name, folder, error=errors[0] + more)
    config = completed.config if completed is not None else subject.directory.config
    return ListedModel(folder.name, folder, subject.directory.versions, subject.directory.selected, config)


def _first(error: AscendInferError) -> str:
    """Return an error's text; of a configuration with several errors the first, and how many more there are."""
    found = error.diagnostics if isinstance(error, ConfigError) else ()
    errors = [each for each in found if each.severity == "error"]
    return f"{errors[0].message} (and {len(errors) - 1} more)" if len(errors) > 1 else str(error)


def _is_model(place: Path) -> bool:
    try:
        inside = find_versions(place)
    except OSError:
        return False
    return "config.pbtxt" in inside.files or bool(inside.versions)


def _tensor(tensor: ModelInput | ModelOutput) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "dtype": None if tensor.data_type is None else tensor.data_type.value,
        "dims": list(tensor.dims),
    }


def _signature(config: ModelConfig) -> str:
    def side(tensors: Sequence[ModelInput | ModelOutput]) -> str:
        return ", ".join(
            f"{tensor.name} {tensor.data_type or '?'} {dims_text(tensor.dims)}" for tensor in tensors
        )

    return shorten(f"{side(config.input)} -> {side(config.output)}", 2 * _LONG)
