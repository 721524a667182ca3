"""Installations of CANN: where they may be, which version each is, which one a path belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ascend_infer.doctor.environment import Environment

__all__ = ["ACL_LIBRARIES", "RUNTIME_LIBRARIES", "CannRoot", "find_cann_roots", "root_of", "version_of"]

#: The C API's file names: one facade (every CANN), its two halves (CANN 8.5 and later).
ACL_LIBRARIES = ("libascendcl.so", "libacl_rt.so", "libacl_mdl.so")
#: Libraries that tell which CANN a folder belongs to.
RUNTIME_LIBRARIES = (*ACL_LIBRARIES, "libruntime.so", "libge_executor.so")
#: An installation's own folders: whatever stands before the first of them is the installation.
_INNER_FOLDERS = frozenset(
    {"lib64", "devlib", "opp", "runtime", "compiler", "fwkacllib", "toolkit", "atc", "tools", "python", "bin"}
)
_VERSION_FILES = ("share/info/runtime/version.info", "version.cfg", "runtime/version.info", "version.info")


@dataclass(frozen=True, slots=True)
class CannRoot:
    """One installation of CANN.

    Attributes
    ----------
    path : str
        Inner path as it was named.
    origin : str
        What named it: an environment variable or ``"default place"``.
    version : str or None
    library_dirs : tuple of str
        Its folders that hold the C API, real ones only.
    """

    path: str
    origin: str
    version: str | None
    library_dirs: tuple[str, ...]

    def set_env_script(self, environment: Environment) -> str | None:
        """Return the script that sets the environment: beside the root, or one above (CANN before 8.5)."""
        for script in (f"{self.path}/set_env.sh", f"{self.path.rsplit('/', 1)[0]}/set_env.sh"):
            if environment.is_file(script):
                return script
        return None


def candidate_roots(environment: Environment) -> tuple[tuple[str, str], ...]:
    """Return (path, origin) of each place where CANN may be, in the order of its own scripts."""
    variables, home = environment.variables, environment.home.rstrip("/")
    named = [
        (variables[name].rstrip("/") or "/", name)
        for name in ("ASCEND_INSTALL_PATH", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
        if variables.get(name)
    ]
    kinds = ("cann", "ascend-toolkit/latest", "nnrt/latest", "nnae/latest")
    usual = [f"{base}/{kind}" for base in (f"{home}/Ascend", "/usr/local/Ascend") for kind in kinds]
    found = dict.fromkeys(path for path, _ in named)
    return (
        *((path, next(origin for other, origin in named if other == path)) for path in found),
        *((path, "default place") for path in (*usual, "/opt/Ascend/cann") if path not in found),
    )


def find_cann_roots(environment: Environment) -> tuple[CannRoot, ...]:
    """Return the installations that are there, each real folder once."""
    roots: list[CannRoot] = []
    seen: set[str] = set()
    for path, origin in candidate_roots(environment):
        real = environment.resolve(path)
        if real in seen or not environment.is_dir(path):
            continue
        seen.add(real)
        dirs = tuple(
            folder
            for folder in (f"{path}/lib64", f"{path}/{environment.arch}-linux/lib64")
            if any(environment.is_file(f"{folder}/{name}") for name in ACL_LIBRARIES)
        )
        roots.append(CannRoot(path, origin, version_of(environment, path), dirs))
    return tuple(roots)


def root_of(path: str) -> str:
    """Return the installation that a file or folder of CANN belongs to, by its path alone."""
    parts = path.rstrip("/").split("/")
    for index, part in enumerate(parts):
        if index and (part in _INNER_FOLDERS or part.endswith("-linux")):
            return "/".join(parts[:index]) or "/"
    return path.rstrip("/")


def version_of(environment: Environment, root: str) -> str | None:
    """Return an installation's version, ``"8.0.0"``, out of whichever version file it has."""
    for name in _VERSION_FILES:
        text = environment.read_text(f"{root}/{name}")
        version = parse_version(text) if text else None
        if version:
            return version
    return None


def parse_version(text: str) -> str | None:
    """Return the version in a ``version.cfg`` or ``version.info``.

    ``runtime_running_version=[7.6.0.1.220:8.0.0]`` holds an inner number and the release's name, of which the
    name is meant; ``Version=7.6.0.1.220`` only one of them.
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.lstrip().startswith("#"):
            values.setdefault(key.strip().lower(), value.strip())
    running: list[str] = [value for key, value in values.items() if key.endswith("_running_version")]
    first, last = values.get("runtime_running_version", ""), values.get("version", "")
    for text in (first, *running, last):
        match = re.fullmatch(r"\[?(?:[^\[\]:]*:)?([^\[\]:]+)\]?", text)
        if match:
            return match.group(1).strip() or None
    return None
