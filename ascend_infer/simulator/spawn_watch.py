"""Children that Python starts while the card copies: CANN forbids them, and only Python can see them all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ascend_infer.errors import ClosedError

if TYPE_CHECKING:
    from ascend_infer.simulator.control import Simulator

__all__ = ["watch_spawns"]

#: Audit events by which CPython tells of them; the library itself sees a plain fork only.
_EVENTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.system", "os.spawn", "os.forkpty"})

_installed = False


def watch_spawns(current: Callable[[], Simulator | None]) -> None:
    """Install the audit hook, once; it asks ``current`` for the simulator that runs."""
    global _installed
    if _installed:
        return
    _installed = True

    def hook(event: str, _arguments: tuple[Any, ...]) -> None:
        if event in _EVENTS:
            simulator = current()
            if simulator is not None:
                try:
                    simulator.note_spawn(event)
                except ClosedError:
                    return  # it ended on another thread just now

    sys.addaudithook(hook)
