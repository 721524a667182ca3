"""Where the dynamic loader looks for a library, in its order."""

from __future__ import annotations

import glob
from dataclasses import dataclass

from ascend_infer.doctor.environment import Environment

__all__ = ["LibraryDirectory", "find_library", "loader_directories", "stub_reason"]

_CONF_FILES_LIMIT = 200  # ld.so.conf may include itself
_MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}


@dataclass(frozen=True, slots=True)
class LibraryDirectory:
    """One folder that the loader searches.

    Attributes
    ----------
    path : str
        Inner path.
    origin : str
        What names it: ``"LD_LIBRARY_PATH"``, a file below ``/etc``, ``"loader default"``.
    """

    path: str
    origin: str


def loader_directories(environment: Environment) -> tuple[LibraryDirectory, ...]:
    """Return the folders of LD_LIBRARY_PATH, of ld.so.conf and the loader's defaults (ld.so(8)).

    What a library's own RPATH adds is not in it. Folders that do not exist are in it too.
    """
    found = [
        LibraryDirectory(entry, "LD_LIBRARY_PATH")
        for entry in environment.variables.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
        if entry
    ]
    found += _configured(environment)
    triplet = _MULTIARCH.get(environment.arch)
    defaults = [f"/lib/{triplet}", f"/usr/lib/{triplet}"] if triplet else []
    found += [
        LibraryDirectory(path, "loader default")
        for path in (*defaults, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
    ]
    first_named: dict[str, LibraryDirectory] = {}
    for item in found:
        first_named.setdefault(item.path, item)
    return tuple(first_named.values())


def find_library(
    environment: Environment, name: str, directories: tuple[LibraryDirectory, ...] | None = None
) -> tuple[tuple[str, LibraryDirectory], ...]:
    """Return every place where the loader would find a library of this file name, the first one wins."""
    if directories is None:
        directories = loader_directories(environment)
    return tuple(
        (f"{directory.path.rstrip('/')}/{name}", directory)
        for directory in directories
        if environment.is_file(f"{directory.path.rstrip('/')}/{name}")
    )


def stub_reason(environment: Environment, path: str) -> str | None:
    """Return why a library is one to link against only, None when it is real.

    CANN keeps its link-time stubs in folders called ``devlib`` and ``stub``; every call of such a library
    answers 100039.
    """
    for text, what in ((path, "path"), (environment.resolve(path), "real path")):
        for part in text.split("/")[:-1]:
            if part in ("devlib", "stub", "stubs"):
                return f"its {what} has the folder {part!r}, where CANN keeps stubs that only linkers may use"
    return None


def _configured(environment: Environment) -> list[LibraryDirectory]:
    found: list[LibraryDirectory] = []
    pending = ["/etc/ld.so.conf"]
    for _ in range(_CONF_FILES_LIMIT):
        if not pending:
            break
        file = pending.pop(0)
        for line in (environment.read_text(file) or "").splitlines():
            text = line.partition("#")[0].strip()
            if text.startswith("include "):
                for pattern in text.split()[1:]:
                    inner = pattern if pattern.startswith("/") else f"/etc/{pattern}"
                    matches = sorted(glob.glob(str(environment.locate(inner))))
                    pending += [environment.inner(match) for match in matches]
            elif text:
                found.append(LibraryDirectory(text.split("=")[0].strip(), file))
    return found
