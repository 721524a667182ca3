"""The compiled parts that an installed package may have: the NPU extension and the simulator."""

from __future__ import annotations

import shlex
from enum import Enum
from importlib.machinery import PathFinder
from pathlib import Path

__all__ = [
    "EXTENSION",
    "ExtensionState",
    "build_command",
    "extension_file",
    "extension_state",
    "simulator_library",
]

EXTENSION = "ascend_infer._native"


class ExtensionState(Enum):
    """Whether the extension can be imported by this Python."""

    PRESENT = "present"
    MISSING = "missing"


def extension_file(package: Path) -> str | None:
    """Return the file that importlib would load as the extension, without loading it."""
    spec = PathFinder.find_spec(EXTENSION, [str(package)])
    return str(spec.origin) if spec else None


def extension_state(package: Path) -> ExtensionState:
    """Ask importlib."""
    return ExtensionState.PRESENT if extension_file(package) else ExtensionState.MISSING


def build_command(package: Path) -> str:
    """Return the command that builds the compiled parts into this package."""
    source = package.parent
    if (source / "setup.py").is_file() and (source / "_ext").is_dir():
        return f"pip install -e {shlex.quote(str(source))}   # needs a C++17 compiler"
    return "pip install --force-reinstall --no-cache-dir ascend-infer"


def simulator_library(package: Path) -> Path | None:
    """Return the simulator's library, None when the package has none."""
    return next(iter(sorted(package.rglob("libascendcl_sim*.so"))), None)
