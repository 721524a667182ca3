"""A Triton-style model directory: config.pbtxt, numbered version folders, label files.

Reads the directory's listing and its config.pbtxt; opens no model file and touches no device.
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ascend_infer.config.findings import Findings, config_error
from ascend_infer.config.member_path import PathEscapeError, member_path
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.model_files import ModelFile, backend_from_files, find_model_file
from ascend_infer.config.parse import ParsedConfig, examine_config
from ascend_infer.config.python_model import check_python_model
from ascend_infer.config.text_file import read_config_text, read_lines
from ascend_infer.config.version_folders import (
    VersionFolders,
    expected_version,
    find_versions,
    is_version,
    select_versions,
)
from ascend_infer.diagnostic import Diagnostic
from ascend_infer.errors import ConfigError, ModelNotFoundError
from ascend_infer.regular_file import file_kind

__all__ = ["ModelDirectory", "examine_directory"]

_CONFIG = "config.pbtxt"
_CONFIG_LOOKALIKES = ("config.pbtext", "config.txt", "config.pbtxt.txt", "config.pb.txt", "config.prototxt")
_MODEL_SUFFIXES = (".om", ".onnx", ".pt", ".pt2", ".plan", ".xml")


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """One model on disk.

    Attributes
    ----------
    path : Path
        The model directory, also when a version folder was opened.
    name : str
        The model's, which is the directory's.
    config : ModelConfig
        Checked and with defaults; not yet completed from the model file.
    parsed : ParsedConfig
        The same with the places of its fields, for later diagnostics.
    versions : tuple of int
        Every version folder, ascending.
    selected : tuple of int
        Those of the version policy.
    pinned : int or None
        The version that was opened, when the path was that of a version folder.
    warnings : tuple of Diagnostic
    allow_paths : tuple of Path
        Folders outside the model directory that the configuration may name files in.
    """

    path: Path
    name: str
    config: ModelConfig
    parsed: ParsedConfig
    versions: tuple[int, ...]
    selected: tuple[int, ...]
    pinned: int | None = None
    warnings: tuple[Diagnostic, ...] = ()
    allow_paths: tuple[Path, ...] = field(default=())

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, allow_paths: Sequence[str | os.PathLike[str]] = ()
    ) -> ModelDirectory:
        """Read a model directory, or a version folder ``NAME/3``, which pins that version.

        Parameters
        ----------
        path : path
            A directory with or without config.pbtxt.
        allow_paths : sequence of paths, optional
            What the configuration names must lie inside the model directory or inside one of these.

        Raises
        ------
        ModelNotFoundError
            Nothing is there, it is no directory, it holds no model, or it is a repository of models.
        ConfigError
            config.pbtxt cannot be read, or breaks a rule; or no backend can be told without it.
        """
        directory, diagnostics = examine_directory(path, allow_paths=allow_paths)
        if directory is None or any(found.severity == "error" for found in diagnostics):
            raise config_error(str(Path(path)), diagnostics)
        return directory

    def version_path(self, version: int) -> Path:
        """Return the folder of a version, which need not exist."""
        return self.path / str(version)

    def resolve_version(self, version: int | str | None = None) -> int:
        """Return the version to use: the one asked for, the pinned one, or the highest of the policy.

        Parameters
        ----------
        version : int, str or None
            None, ``""`` and -1 mean the highest. Any version that is there can be asked for by its number,
            also one that the policy does not select.

        Raises
        ------
        ModelNotFoundError
            Naming the versions there are.
        """
        there = ", ".join(map(str, self.versions)) or "none"
        text = str(version).strip() if version is not None else ""
        if text in ("", "-1"):
            if self.pinned is not None:
                return self.pinned
            if self.selected:
                return self.selected[-1]
            raise ModelNotFoundError(
                f"model '{self.name}' has no version that its version policy selects; "
                f"versions in {self.path}: {there}; at least one must be available"
                + ("" if self.versions else f"; put the model file into {self.path / '1'}"),
                path=str(self.path),
            )
        if is_version(text) and int(text) in self.versions:
            return int(text)
        raise ModelNotFoundError(
            f"model '{self.name}' has no version {text!r}; versions in {self.path}: {there}",
            path=str(self.path / text) if is_version(text) else str(self.path),
        )

    def model_file(self, version: int, suffix: str = "") -> ModelFile:
        """Return where a version's model file is, and whether it exists.

        Parameters
        ----------
        version : int
        suffix : str, optional
            ``".om"`` or ``".onnx"`` for the file of that kind: the model itself or the twin beside it, of the
            same stem or named ``model``. Empty for what ``default_model_filename`` says.

        Raises
        ------
        ConfigError
            When the path leads out of the model directory and no ``allow_paths`` covers it.
        """
        folder = self.version_path(version)
        try:
            return find_model_file(self.config, self.path, folder, suffix, self.allow_paths)
        except PathEscapeError as error:
            findings = self.parsed.findings()
            findings.error(
                "default_model_filename",
                f"the model file of version {version} is refused: {error}",
                got=f"'{self.config.default_model_filename}'",
                expected=f"a file inside {self.path}",
                hint="allow its folder with allow_paths=[...]",
            )
            raise config_error(str(self.path), findings.diagnostics) from error

    def labels(self, output: str) -> list[str] | None:
        """Return an output's labels, one a line of its label file; None when the configuration names none.

        Empty lines count: they are the label of their index.

        Raises
        ------
        ConfigError
            The file is missing, not UTF-8, or outside the model directory.
        LookupError
            The configuration has no such output.
        """
        for index, tensor in enumerate(self.config.output):
            if tensor.name != output:
                continue
            if not tensor.label_filename:
                return None
            return self._read_labels(index, tensor.label_filename)
        raise LookupError(f"model '{self.name}' has no output '{output}'")

    def _read_labels(self, index: int, filename: str) -> list[str]:
        findings = self.parsed.findings()
        own = f"output[{index}].label_filename"
        try:
            return read_lines(member_path(self.path, self.path, filename, self.allow_paths))
        except PathEscapeError as error:
            findings.error(
                own,
                f"the label file '{filename}' is refused: {error}",
                got=f"'{filename}'",
                expected=f"a file inside {self.path}",
                hint="allow its folder with allow_paths=[...]",
            )
        except ConfigError as error:
            reason = error.diagnostics[0].message
            findings.error(own, f"the label file '{filename}' cannot be used: {reason}", got=f"'{filename}'")
        raise config_error(str(self.path), findings.diagnostics)


def examine_directory(
    path: str | os.PathLike[str], *, allow_paths: Sequence[str | os.PathLike[str]] = ()
) -> tuple[ModelDirectory | None, tuple[Diagnostic, ...]]:
    """Read a model directory without raising for what its configuration says.

    Returns
    -------
    directory : ModelDirectory or None
        None when config.pbtxt cannot be parsed.
    diagnostics : tuple of Diagnostic

    Raises
    ------
    ModelNotFoundError
        When there is no model at ``path``.
    """
    root, shown, pinned, folders = _locate(Path(os.path.abspath(path)), Path(path))
    name = root.name
    findings = Findings(str(shown))
    for doubtful in folders.doubtful:
        findings.warning(
            "",
            f"folder '{doubtful}' is no version and is ignored",
            got=f"'{doubtful}'",
            expected=expected_version(doubtful),
        )
    impostors = [entry for entry in folders.files if is_version(entry)]
    for entry in impostors:
        text = f"'{entry}' is {_what_instead(root / entry)}, no version folder"
        if folders.versions:
            findings.warning("", f"{text}, and is ignored")
        else:
            findings.error("", text, hint=f"put the model file into a folder {entry}")
    parsed, diagnostics = _read_config(shown, name, folders, findings)
    found = (*diagnostics, *findings.diagnostics)
    if parsed is None:
        return None, found
    allowed = tuple(Path(place) for place in allow_paths)
    versions = folders.versions
    selected = select_versions(parsed.config, versions)
    more = parsed.findings()
    config = parsed.config
    if versions or not impostors:  # else that is what is wrong, not what the folders hold
        config = backend_from_files(config, root, (*reversed(selected), *reversed(versions)), more)
    if config.platform == "ensemble" and not versions:
        # git keeps no empty folders; an ensemble's version folder has nothing to hold.
        more.warning("", "the ensemble has no version folder; Triton would refuse it", hint="add a folder 1")
        versions = selected = (1,)
    if config.backend == "python":
        check_python_model(config, root, selected, allowed, more)
    parsed = replace(parsed, config=config)
    found = (*found, *more.diagnostics)
    warnings = tuple(each for each in found if each.severity == "warning")
    directory = ModelDirectory(root, name, config, parsed, versions, selected, pinned, warnings, allowed)
    return directory, found


def _read_config(
    root: Path, name: str, folders: VersionFolders, findings: Findings
) -> tuple[ParsedConfig | None, tuple[Diagnostic, ...]]:
    file = root / _CONFIG
    if not os.path.lexists(file):
        for lookalike in folders.files:
            if lookalike in _CONFIG_LOOKALIKES or lookalike.lower() == _CONFIG:
                findings.warning("", f"'{lookalike}' is not read", hint=f"rename it to {_CONFIG}")
        return examine_config("", file=str(root), name=name)
    try:
        text = read_config_text(file)
    except ConfigError as error:
        return None, error.diagnostics
    return examine_config(text, file=str(file), name=name)


def _locate(path: Path, shown: Path) -> tuple[Path, Path, int | None, VersionFolders]:
    """Tell a model directory from a version folder, a repository and everything else.

    Returns the model directory, absolute and as the user gave it, the pinned version and the listing.
    """
    folders = _list(path, shown)
    own_config = os.path.lexists(path / _CONFIG)
    parent_config = os.path.lexists(path.parent / _CONFIG)
    bare_version = is_version(path.name) and not own_config and not folders.versions
    if bare_version and (parent_config or _model_files(folders)):
        outer = shown.parent if shown.name else path.parent
        return path.parent, outer, int(path.name), _list(path.parent, outer)
    if own_config or folders.versions:
        return path, shown, None, folders
    models = [name for name in folders.folders if _is_model(path / name)]
    if models:
        first = shown / models[0]
        names = ", ".join(models[:12]) + (f" and {len(models) - 12} more" if len(models) > 12 else "")
        raise ModelNotFoundError(
            f"{shown} is a repository of {len(models)} models, not a model: {names}; did you mean {first}?",
            path=str(shown),
        )
    loose = _model_files(folders)
    if loose:
        raise ModelNotFoundError(
            f"{shown} has no version folder; move {loose[0]} to {shown / '1' / loose[0]}", path=str(shown)
        )
    if not folders.files and not folders.folders and not folders.doubtful:
        raise ModelNotFoundError(f"{shown} is an empty directory", path=str(shown))
    files = [
        f"{entry} ({_what_instead(path / entry)})" if is_version(entry) else entry for entry in folders.files
    ]
    entries = [*folders.doubtful, *folders.folders, *files][:8]
    raise ModelNotFoundError(
        f"{shown} holds no model: got {', '.join(entries)}; expected {_CONFIG} or a version folder such as 1",
        path=str(shown),
    )


def _what_instead(path: Path) -> str:
    """Return what an entry is that should have been a folder."""
    try:
        return file_kind(os.stat(path).st_mode) or "a file"
    except FileNotFoundError:
        return "a link whose target is missing"
    except OSError as error:
        return "a link that leads back to itself" if error.errno == errno.ELOOP else "not to be looked at"


def _model_files(folders: VersionFolders) -> list[str]:
    return [name for name in folders.files if name == "model.py" or Path(name).suffix in _MODEL_SUFFIXES]


def _list(path: Path, shown: Path) -> VersionFolders:
    try:
        return find_versions(path)
    except FileNotFoundError:
        raise ModelNotFoundError(
            f"{shown} does not exist{_neighbour(path, shown)}", path=str(shown)
        ) from None
    except NotADirectoryError:
        hint = ""
        if is_version(path.parent.name):
            hint = f"; its model directory is {shown.parent.parent}"
        elif path.name == _CONFIG:
            hint = f"; its model directory is {shown.parent}"
        raise ModelNotFoundError(
            f"{shown} is {_what_instead(path)}, not a model directory{hint}", path=str(shown)
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelNotFoundError(f"{shown} cannot be read: {reason}", path=str(shown)) from error


def _neighbour(path: Path, shown: Path) -> str:
    """Return what a path that does not exist may have meant."""
    try:
        names = sorted(os.listdir(path.parent))
    except (OSError, ValueError):
        return ""
    if path.name in names:
        return ": it is a link whose target is missing"
    close = difflib.get_close_matches(path.name, names, n=1)
    if close:
        return f"; did you mean {shown.parent / close[0]}?"
    versions = [name for name in names if is_version(name)]
    if is_version(path.name) and versions:
        return f"; versions in {shown.parent}: {', '.join(sorted(versions, key=int))}"
    return ""


def _is_model(path: Path) -> bool:
    try:
        return os.path.lexists(path / _CONFIG) or bool(find_versions(path).versions)
    except OSError:
        return False
