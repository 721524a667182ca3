"""What a model is, by its bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ascend_infer.config import ModelConfig
from ascend_infer.config.version_folders import is_version
from ascend_infer.content_files import content_files, files_below, version_folder
from ascend_infer.errors import ScoringSourceError
from ascend_infer.scoring.model import ScoredSession

__all__ = ["content_of", "model_content", "model_files"]

#: Beside the versions' folders: what a configuration names in them.
_NAMED_FOLDERS = ("warmup", "initial_state", "configs")


def model_content(*sessions: ScoredSession) -> dict[str, str]:
    """Return the SHA-256 of each file that decides what comes out, as it was when the model was loaded.

    Parameters
    ----------
    *sessions : Session
        Of one model.

    Raises
    ------
    ScoringSourceError
        A file cannot be read any more, or was changed since a session was opened.
    """
    first = sessions[0]
    found = content_of(first.path, first.version, first.config)
    # After the digest: what is the same before and after it was the same all the while.
    for session in sessions:
        for path, how in session.changed_files().items():
            raise ScoringSourceError(
                f"model {path}: it was changed since the session was opened ({how}), and what runs is what it was "
                "then; open the session anew",
                source=path,
            )
    return found


def content_of(path: str, version: int | None, config: ModelConfig | None) -> dict[str, str]:
    """Return the SHA-256 of each file that decides what comes out of a model: see :func:`content_files`.

    Raises
    ------
    ScoringSourceError
        A file cannot be read.
    """
    labels = [] if config is None else [output.label_filename for output in config.output]
    try:
        return {name: _sum(file) for name, file in content_files(Path(path), version, labels).items()}
    except OSError as error:
        raise ScoringSourceError(
            f"model {error.filename or path}: {error.strerror or error}", source=str(error.filename or path)
        ) from error


def model_files(session: ScoredSession) -> Iterator[str]:
    """Return the paths of the files of a model, those of its other versions too, and the folder that it is opened by.

    Of a bare model file, what :func:`model_content` counts.
    """
    path = Path(session.path)
    config = session.config
    labels = [output.label_filename for output in config.output]
    yield from map(str, content_files(path, session.version, labels).values())
    if path.is_file():
        return
    yield str(path)
    root, _ = version_folder(path, session.version)
    for name in ["config.pbtxt", *labels]:
        if name:
            yield str(root / name)
    for folder in sorted(item for item in root.iterdir() if item.is_dir()):
        if folder.name in _NAMED_FOLDERS or is_version(folder.name):
            yield from map(str, files_below(folder))
            for name in (config.default_model_filename, *config.cc_model_filenames.values()):
                if name:
                    yield str(folder / name)


def _sum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
