"""The compiled parts that an installed package may have: the NPU extension and the simulator."""

from __future__ import annotations

from enum import Enum
from importlib.machinery import PathFinder
from pathlib import Path

__all__ = ["EXTENSION", "ExtensionState", "extension_file", "extension_state", "simulator_library"]

EXTENSION = "ascend_infer._native"


class ExtensionState(Enum):
    """Whether the extension can be imported by this Python."""

    PRESENT = "present"
    MISSING = "missing"
    NOT_IN_THIS_VERSION = "not in this version"


def extension_file(package: Path) -> str | None:
    """Return the file that importlib would load as the extension, without loading it."""
    spec = PathFinder.find_spec(EXTENSION, [str(package)])
    return str(spec.origin) if spec else None


def extension_state(package: Path) -> ExtensionState:
    """Ask importlib; a version that has the extension ships its type stub ``_native.pyi``."""
    if extension_file(package):
        return ExtensionState.PRESENT
    if (package / "_native.pyi").is_file():
        return ExtensionState.MISSING
    return ExtensionState.NOT_IN_THIS_VERSION


def simulator_library(package: Path) -> Path | None:
    """Return the simulator's library, None when the package has none."""
    return next(iter(sorted(package.rglob("libascendcl_sim*.so"))), None)
