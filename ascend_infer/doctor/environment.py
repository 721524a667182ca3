"""The machine as the checks see it: a root folder, the environment variables, who asks.

Everything a check reads goes through here, so that a test can lay out a whole machine in a temporary folder.
"""

from __future__ import annotations

import os
import platform
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ascend_infer.regular_file import file_kind

__all__ = ["Environment"]

_SYMLINK_LIMIT = 40  # the kernel's own limit


@dataclass(frozen=True, slots=True)
class Environment:
    """Where the checks look.

    Paths that checks handle are *inner* paths, as programs on that machine would write them
    (``"/usr/local/Ascend"``); `locate` turns one into the path of this process.

    Attributes
    ----------
    root : Path
        What is ``/`` on the machine under examination.
    variables : mapping of str to str
        Its environment variables.
    uid : int
        Effective user id of who asks; 0 may do everything.
    gids : frozenset of int
        Effective and supplementary groups.
    arch : str
        ``"x86_64"`` or ``"aarch64"``, as ``uname -m`` says it.
    system : str
        ``"Linux"``, ``"Darwin"``, as ``uname -s`` says it.
    executable : str
        The Python that child processes run; empty in an embedded interpreter, then no probe can run.
    module_path : tuple of Path
        Where installed distributions are looked for (``sys.path``); paths of this process.
    package_path : Path
        The folder of the installed ``ascend_infer``; a path of this process.
    """

    root: Path
    variables: Mapping[str, str]
    uid: int
    gids: frozenset[int]
    arch: str
    system: str
    executable: str
    module_path: tuple[Path, ...]
    package_path: Path

    @classmethod
    def current(cls) -> Environment:
        """Return this machine and this process, as they are now."""
        return cls(
            root=Path("/"),
            variables=dict(os.environ),
            uid=os.geteuid(),
            gids=frozenset({os.getegid(), *os.getgroups()}),
            arch={"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine()),
            system=platform.system(),
            executable=sys.executable or "",
            module_path=tuple(Path(entry or os.curdir) for entry in sys.path),
            package_path=Path(__file__).resolve().parents[1],
        )

    @property
    def is_whole_machine(self) -> bool:
        """Whether inner paths are this process's own paths."""
        return self.root == Path("/")

    @property
    def home(self) -> str:
        """The inner home folder; ``/root`` or ``/`` where HOME is not set."""
        return self.variables.get("HOME") or ("/root" if self.uid == 0 else "/")

    def locate(self, inner: str | os.PathLike[str]) -> Path:
        """Return this process's path of an inner path; relative ones stand for themselves."""
        text = os.fspath(inner)
        if self.is_whole_machine or not text.startswith("/"):
            return Path(text)
        return self.root / text.lstrip("/")

    def inner(self, path: str | os.PathLike[str]) -> str:
        """Return the inner path of one of this process's paths; outside the root it stays as it is."""
        text = os.fspath(path)
        if self.is_whole_machine:
            return text
        try:
            return "/" + Path(text).relative_to(self.root).as_posix()
        except ValueError:
            return text

    def resolve(self, inner: str) -> str:
        """Return the inner path with symbolic links followed inside the root; loops stay unresolved."""
        if self.is_whole_machine or not inner.startswith("/"):
            return os.path.realpath(inner)
        pending = [part for part in reversed(inner.split("/")) if part not in ("", ".")]
        done: list[str] = []
        links = 0
        while pending:
            part = pending.pop()
            if part == "..":
                del done[-1:]
                continue
            candidate = self.locate("/" + "/".join([*done, part]))
            try:
                target = os.readlink(candidate) if links < _SYMLINK_LIMIT else None
            except OSError:
                target = None
            if target is None:
                done.append(part)
                continue
            links += 1
            if target.startswith("/"):
                done.clear()
            pending.extend(piece for piece in reversed(target.split("/")) if piece not in ("", "."))
        return "/" + "/".join(done)

    def is_file(self, inner: str) -> bool:
        """Whether a file (or a link to one) is there and may be looked at."""
        return os.path.isfile(self.locate(self.resolve(inner)))

    def is_dir(self, inner: str) -> bool:
        """Whether a folder (or a link to one) is there and may be looked at."""
        return os.path.isdir(self.locate(self.resolve(inner)))

    def why_no_file(self, inner: str, names: tuple[str, ...] = ()) -> str:
        """Return what a path is that was to be a file, or a folder with one of these files: ``"is not there"``."""
        try:
            mode = os.stat(self.locate(self.resolve(inner))).st_mode
        except FileNotFoundError:
            return "is not there"
        except (OSError, ValueError) as error:
            return f"cannot be looked at: {getattr(error, 'strerror', None) or error}"
        if stat.S_ISDIR(mode) and names:
            return f"is a folder without {' or '.join(names)}"
        return f"is {file_kind(mode) or 'a file'}"

    def list_dir(self, inner: str) -> tuple[str, ...]:
        """Return the sorted names in a folder; none where it cannot be read."""
        try:
            return tuple(sorted(os.listdir(self.locate(self.resolve(inner)))))
        except OSError:
            return ()

    def read_text(self, inner: str, limit: int = 65536) -> str | None:
        """Return a regular file's first `limit` bytes as text; None where it cannot be read."""
        if not self.is_file(inner):
            return None
        try:
            with open(self.locate(self.resolve(inner)), "rb") as file:
                return file.read(limit).decode("utf-8", "replace")
        except OSError:
            return None

    def may_read_and_write(self, inner: str) -> bool:
        """Whether who asks may open this for reading and writing.

        On the running process's own machine the kernel is asked (it knows access lists too), elsewhere the
        mode decides.
        """
        path = self.locate(inner)
        if self.is_whole_machine and self.uid == os.geteuid():
            return os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids)
        if self.uid == 0:
            return True
        status = os.stat(path)
        if status.st_uid == self.uid:
            bits = status.st_mode >> 6
        elif status.st_gid in self.gids:
            bits = status.st_mode >> 3
        else:
            bits = status.st_mode
        return bits & 6 == 6

    def group_name(self, gid: int) -> str:
        """Return a group's name out of ``/etc/group``, else its number."""
        for line in (self.read_text("/etc/group") or "").splitlines():
            fields = line.split(":")
            if len(fields) >= 3 and fields[2] == str(gid):
                return fields[0]
        return str(gid)
