"""Every library that loading one would pull in, and which of them are missing (what ``ldd`` shows)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ascend_infer.doctor.elf import ElfError, read_shared_object
from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.loader_path import LibraryDirectory, find_library, loader_directories

__all__ = ["LibraryChain", "MissingLibrary", "UnreadableLibrary", "follow_chain"]

#: The C library's own parts: this Python could not run without them.
_ALWAYS_LOADED = ("ld-linux", "libc.", "libdl.", "libm.", "libpthread.", "librt.", "libutil.", "linux-vdso")
_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class MissingLibrary:
    """A needed library that is nowhere on the loader's path, and who needs it."""

    name: str
    needed_by: str


@dataclass(frozen=True, slots=True)
class UnreadableLibrary:
    """A library that is there and cannot be loaded, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class LibraryChain:
    """The closure of one library's needs.

    Attributes
    ----------
    found : tuple of str
        Inner paths, breadth first, the library itself first.
    missing : tuple of MissingLibrary
    unreadable : tuple of UnreadableLibrary
    """

    found: tuple[str, ...]
    missing: tuple[MissingLibrary, ...]
    unreadable: tuple[UnreadableLibrary, ...]


def follow_chain(environment: Environment, library: str) -> LibraryChain:
    """Follow DT_NEEDED from a library through RPATH, LD_LIBRARY_PATH, ld.so.conf and the defaults.

    Reads headers only, loads nothing. An outer library's RPATH does not reach its dependencies here, which is
    how RUNPATH works; the loader's own verdict comes from loading in a child process.
    """
    directories = loader_directories(environment)
    found: list[str] = []
    missing: list[MissingLibrary] = []
    unreadable: list[UnreadableLibrary] = []
    seen = {library.rsplit("/", 1)[-1]}
    pending = deque([library])
    while pending and len(found) < _LIMIT:
        path = pending.popleft()
        found.append(path)
        try:
            read = read_shared_object(environment.locate(environment.resolve(path)))
        except (ElfError, OSError) as error:
            unreadable.append(UnreadableLibrary(path, getattr(error, "strerror", None) or str(error)))
            continue
        if read.machine != environment.arch:
            unreadable.append(UnreadableLibrary(path, f"it is made for {read.machine}"))
        own = path.rsplit("/", 1)[0]
        extra = tuple(
            LibraryDirectory(text.replace("${ORIGIN}", own).replace("$ORIGIN", own), "RPATH")
            for text in read.search
        )
        for name in read.needed:
            if name in seen or name.startswith(_ALWAYS_LOADED):
                continue
            seen.add(name)
            places = find_library(environment, name, (*extra, *directories))
            if places:
                pending.append(places[0][0])
            else:
                missing.append(MissingLibrary(name, path))
    return LibraryChain(tuple(found), tuple(missing), tuple(unreadable))
