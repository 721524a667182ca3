"""A model file as it was when a session began to open it: what is loaded later has to be that file."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from ascend_infer.errors import ModelLoadError

__all__ = ["FileState"]

#: Twice the coarsest tick of a kernel's clock, in ns: a file written twice within a tick has the same times.
_TICKS = 20_000_000


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells a file from one that was put in its place, or written over it.

    Attributes
    ----------
    path : Path
    identity : tuple of int
        Device, inode, size and times. The time of the last change is the kernel's own, which no program sets back.
        Empty where there was no such file.

    Notes
    -----
    Immutable; safe from any thread.
    """

    path: Path
    identity: tuple[int, ...]

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Look at a file; waits some ms for one that was changed just now, so that a later change shows."""
        identity = _identity(path)
        if identity and abs(time.time_ns() - identity[-1]) < _TICKS:
            time.sleep(_TICKS * 1e-9)
            identity = _identity(path)
        return cls(path, identity)

    def check(self) -> None:
        """See that the path still leads to this file, unchanged.

        Raises
        ------
        ModelLoadError
            It does not.
        """
        found = _identity(self.path)
        if not found or found != self.identity:
            what = "changed" if found else "is gone"
            raise ModelLoadError(
                f"{self.path} {what} since the session was opened; open the session anew",
                path=str(self.path),
            )


def _identity(path: Path) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
