"""Where the compiler is: on the PATH, or in an installed CANN."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ascend_infer.doctor.cann_root import find_cann_roots, root_of, version_of
from ascend_infer.doctor.environment import Environment
from ascend_infer.errors import ModelLoadError

__all__ = ["Atc", "find_atc"]

#: Below a root of CANN: since 8.5, before, and in 2020.
_PLACES = ("bin/atc", "{arch}-linux/bin/atc", "compiler/bin/atc", "atc/bin/atc")


@dataclass(frozen=True, slots=True)
class Atc:
    """The compiler.

    Attributes
    ----------
    path : str
    root : str
        The CANN it belongs to.
    version : str
        Of that CANN, ``"8.0.0"``; ``"unknown"`` where its files do not say.
    """

    path: str
    root: str
    version: str

    def variables(self, environment: Environment) -> dict[str, str]:
        """Return the environment to run it in: the caller's, with what CANN's set_env.sh adds where missing."""
        variables = dict(environment.variables)
        if variables.get("ASCEND_OPP_PATH"):
            return variables
        root = self.root
        for name, value in (
            ("ASCEND_HOME_PATH", root),
            ("ASCEND_TOOLKIT_HOME", root),
            ("ASCEND_AICPU_PATH", root),
            ("ASCEND_OPP_PATH", f"{root}/opp"),
        ):
            variables.setdefault(name, value)
        for name, places in (
            ("LD_LIBRARY_PATH", (f"{root}/lib64",)),
            ("PYTHONPATH", (f"{root}/python/site-packages", f"{root}/opp/built-in/op_impl/ai_core/tbe")),
        ):
            variables[name] = os.pathsep.join([*places, *filter(None, [variables.get(name)])])
        return variables


def find_atc(
    environment: Environment, atc: str | os.PathLike[str] | None = None, *, command: str = ""
) -> Atc:
    """Find the compiler.

    Parameters
    ----------
    environment : Environment
    atc : path-like, optional
        The one to use; nothing else is tried then.
    command : str
        What would be run, for the error.

    Raises
    ------
    ModelLoadError
        Naming the places that were searched, and the command to run elsewhere.
    """
    if atc is not None:
        path = os.path.abspath(os.fsdecode(atc))
        if not os.path.isfile(path) or not os.access(path, os.X_OK):
            raise ModelLoadError(f"atc: {path} is no program that can be run", path=path)
        return _described(environment, path)
    on_path = shutil.which("atc", path=environment.variables.get("PATH", ""))
    if on_path:
        return _described(environment, os.path.abspath(on_path))
    roots = find_cann_roots(environment)
    for root in roots:
        for place in _PLACES:
            found = environment.locate(f"{root.path}/{place.format(arch=environment.arch)}")
            if found.is_file() and os.access(found, os.X_OK):
                return Atc(str(found), str(environment.locate(root.path)), root.version or "unknown")
    places = ", ".join(root.path for root in roots) or "no CANN is installed in any of its usual places"
    hint = f"; or run this where it is:\n  {command}" if command else ""
    raise ModelLoadError(
        "atc, the compiler that makes .om models, was not found: not on the PATH, and not in CANN "
        f"({places}). Install the CANN toolkit and source its set_env.sh{hint}"
    )


def _described(environment: Environment, path: str) -> Atc:
    real = environment.inner(Path(path).resolve())
    root = root_of(real)
    return Atc(path, root, version_of(environment, root) or "unknown")
