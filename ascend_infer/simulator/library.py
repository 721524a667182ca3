"""Where the simulator's library is, and the onnxruntime library that computes for it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from ascend_infer.errors import LibraryNotFoundError, MissingDependencyError

__all__ = ["library_path", "onnxruntime_path"]

_NAME = "libascendcl_sim.so"


def library_path() -> Path:
    """Return the path of ``libascendcl_sim.so``, which comes with the package.

    Raises
    ------
    LibraryNotFoundError
        The package was installed without its compiled parts, or for a platform other than Linux.
    """
    path = Path(__file__).with_name(_NAME)
    if path.is_file():
        return path
    raise LibraryNotFoundError(
        f"the simulator's library is not where the package has it, {path}: it is built for Linux only, by "
        "pip install (from a checkout: pip install -e .)",
        library=_NAME,
        tried=(("package", str(path), "there is no such file"),),
    )


def onnxruntime_path() -> Path:
    """Return the path of the library inside the installed onnxruntime package, without importing that.

    ``ACLSIM_ONNXRUNTIME`` names another one.

    Raises
    ------
    MissingDependencyError
        onnxruntime is not installed, or its wheel has no library of its own (before version 1.19).
    """
    named = os.environ.get("ACLSIM_ONNXRUNTIME")
    if named:
        return Path(named)
    found = importlib.util.find_spec("onnxruntime")
    for folder in (found.submodule_search_locations or ()) if found else ():
        for path in sorted(Path(folder, "capi").glob("libonnxruntime.so*")):
            return path
    have = "the installed onnxruntime has no library that C can load" if found else "onnxruntime is missing"
    raise MissingDependencyError(
        f"the simulator computes with onnxruntime, and {have}: pip install 'onnxruntime>=1.19'",
        package="onnxruntime",
    )
