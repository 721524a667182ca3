"""The shared library inside the installed onnxruntime package, found without importing that."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ascend_infer.errors import MissingDependencyError

__all__ = ["find_library", "not_installed"]

#: Wheels have it since 1.19; the full version follows the suffix on Linux and precedes it on macOS.
_PATTERNS = ("libonnxruntime.so*", "libonnxruntime*.dylib")


def find_library() -> Path | None:
    """Return the library's path; None where the package has none, or several, or keeps it elsewhere.

    Raises
    ------
    MissingDependencyError
        onnxruntime is not installed.
    """
    found = importlib.util.find_spec("onnxruntime")
    if found is None:
        raise not_installed()
    for folder in found.submodule_search_locations or ():
        files = {
            path.resolve()
            for pattern in _PATTERNS
            for path in Path(folder, "capi").glob(pattern)
            if not path.name.startswith("libonnxruntime_")
        }
        if len(files) == 1:
            return files.pop()
    return None


def not_installed() -> MissingDependencyError:
    """Make the error for a missing onnxruntime."""
    return MissingDependencyError(
        "onnxruntime runs .onnx models and is not installed: pip install 'ascend-infer[cpu]' "
        "(or keep an onnxruntime-gpu or -cann that you have: they share its import name)",
        package="onnxruntime",
    )
