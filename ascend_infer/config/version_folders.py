"""The numbered folders of a model directory, and which of them the version policy selects."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ascend_infer.config.model_config import ModelConfig

__all__ = ["VersionFolders", "expected_version", "find_versions", "is_version", "select_versions"]

_VERSION = re.compile(r"0|[1-9][0-9]*")
# Triton's parser stops at the first character that is no digit, so these load as 7, -2 and 5 there.
_LOOKS_LIKE_VERSION = re.compile(r"[vV]?[+-]?[0-9].*|[vV]ersion.*|latest")
_OTHER_FOLDERS = frozenset({"warmup", "initial_state", "configs"})
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class VersionFolders:
    """What a model directory holds: versions ascending, folders that look like one, and the other entries."""

    versions: tuple[int, ...]
    doubtful: tuple[str, ...]
    files: tuple[str, ...]
    folders: tuple[str, ...]


def is_version(name: str) -> bool:
    """Whether a folder's name is a version: a number without sign or leading zeros."""
    return _VERSION.fullmatch(name) is not None and int(name) <= _LARGEST


def find_versions(path: Path) -> VersionFolders:
    """List a model directory; OSError when it cannot be read."""
    versions, doubtful, files, folders = [], [], [], []
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                folder = entry.is_dir()
            except OSError:  # a circle of symbolic links
                folder = False
            if not folder:
                files.append(entry.name)
            elif is_version(entry.name):
                versions.append(int(entry.name))
            elif entry.name in _OTHER_FOLDERS or entry.name.startswith("."):
                continue
            elif _LOOKS_LIKE_VERSION.fullmatch(entry.name):
                doubtful.append(entry.name)
            else:
                folders.append(entry.name)
    return VersionFolders(
        tuple(sorted(versions)), tuple(sorted(doubtful)), tuple(sorted(files)), tuple(sorted(folders))
    )


def expected_version(name: str) -> str:
    """Return what the name of a folder that looks like a version should have been."""
    if _VERSION.fullmatch(name) is not None:
        return f"a number of at most {_LARGEST}"
    return "a number without sign, letters or leading zeros"


def select_versions(config: ModelConfig, versions: tuple[int, ...]) -> tuple[int, ...]:
    """Return the versions that the policy selects of those that are there, ascending."""
    policy = config.version_policy
    if policy is not None and policy.all is not None:
        return versions
    if policy is not None and policy.specific is not None:
        wanted = set(policy.specific.versions)
        return tuple(version for version in versions if version in wanted)
    latest = policy.latest.num_versions if policy is not None and policy.latest is not None else 1
    return versions[-latest:] if latest > 0 else ()
