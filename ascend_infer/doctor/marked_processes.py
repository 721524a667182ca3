"""Ending processes that left their parent's session: found by what their environment says.

A process that forks, starts a session of its own and outlives its parent belongs to nobody: neither the group nor
the parent's number tells whose it was. Its environment, as it was when its program started, still does.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress

__all__ = ["kill_marked"]

#: A marked process may fork while the list is read; one that does nothing else is not chased for ever.
_ROUNDS = 5


def kill_marked(entry: bytes) -> int:
    """Kill every process whose environment holds ``NAME=value``; return how many were found.

    Needs Linux's ``/proc`` and finds what this user may look at; does nothing elsewhere.
    """
    killed: set[int] = set()
    for _ in range(_ROUNDS):
        found = [pid for pid in _processes() if pid not in killed and _kill_if_marked(pid, entry)]
        if not found:
            break
        killed.update(found)
    return len(killed)


def _processes() -> Iterator[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    own = os.getpid()
    yield from (int(name) for name in names if name.isdecimal() and int(name) != own)


def _kill_if_marked(pid: int, entry: bytes) -> bool:
    opener = getattr(os, "pidfd_open", None)
    send = getattr(signal, "pidfd_send_signal", None)
    if opener is None or send is None:
        if _is_marked(pid, entry):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                return True
        return False
    if not _is_marked(pid, entry):
        return False
    with suppress(OSError):
        descriptor: int = opener(pid)
        try:
            # Asked again: the number may have gone to another process before the descriptor was opened.
            if _is_marked(pid, entry):
                send(descriptor, signal.SIGKILL)
                return True
        finally:
            os.close(descriptor)
    return False


def _is_marked(pid: int, entry: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return entry in file.read(1 << 22).split(b"\0")
    except OSError:
        return False
