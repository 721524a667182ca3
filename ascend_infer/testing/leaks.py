"""Finding what a piece of code leaves behind: open sessions, threads, device memory."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

__all__ = ["LeakCheck", "live_threads"]

#: Seconds that what is on its way out (a thread that was told to end, a dropped session's device) is waited for.
_PATIENCE = 5.0


class LeakCheck:
    """Compare what this process holds of the library with what it held when this was made.

    Counted are sessions that were opened and not closed, threads of the library but for those of sessions that were
    open before, and memory of open devices that is in use: weights, workspaces and buffers of models, and pinned memory
    that arrays of results still show.

    Use it with ``with``: the end of the block raises ``AssertionError`` when the block left something. A block that
    raises itself is not checked: its traceback keeps things alive.

    Examples
    --------
    >>> from ascend_infer.testing import LeakCheck
    >>> with LeakCheck():
    ...     pass

    Notes
    -----
    What other threads open meanwhile counts too. Runs the garbage collector when something seems left, and waits up to
    5 s for what is on its way out. Imports nothing: what was never loaded holds nothing.
    """

    def __init__(self) -> None:
        self._sessions = {id(session) for session in _open_sessions()}
        self._threads = self._other_threads()
        self._memory = _device_memory()

    def found(self) -> list[str]:
        """Return what was left, a line each; empty when there is nothing."""
        if left := self._left():
            # What only a cycle holds is no leak: the collector frees it.
            gc.collect()
            deadline = time.monotonic() + _PATIENCE
            while (left := self._left()) and not self._lasting() and time.monotonic() < deadline:
                os.sched_yield()
        return left

    def verify(self) -> None:
        """Raise when something was left.

        Raises
        ------
        AssertionError
            Says what, a line each, and what to do.
        """
        if left := self.found():
            raise AssertionError("left behind:" + "".join(f"\n  {line}" for line in left))

    def __enter__(self) -> LeakCheck:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.verify()

    def _other_threads(self) -> int:
        """Count the threads but for those of sessions that were open before, which start some when they need them."""
        own = [session._core for session in _open_sessions() if id(session) in self._sessions]
        theirs: int = sum(core.scheduler.live_threads for core in own if core is not None)
        return live_threads() - theirs

    def _lasting(self) -> bool:
        """Whether something is left that no waiting helps: a session that is open stays open."""
        return any(id(session) not in self._sessions for session in _open_sessions())

    def _left(self) -> list[str]:
        left = [
            f"{session!r} is open: close() it, or use it by `with`"
            for session in _open_sessions()
            if id(session) not in self._sessions
        ]
        if (threads := self._other_threads() - self._threads) > 0:
            left.append(f"{threads} thread{'s' if threads != 1 else ''} of sessions run")
        for (device, memory), used in _device_memory().items():
            more = used - self._memory.get((device, memory), 0)
            if more > 0:
                why = "; arrays of results that are alive show it" if memory == "pinned memory" else ""
                left.append(f"{more} bytes of {device}'s {memory} are in use{why}")
        return left


def live_threads() -> int:
    """Return how many threads of sessions there are in this process; loads nothing for it."""
    worker = sys.modules.get("ascend_infer.scheduling.lane_thread")
    return worker.live_threads() if worker else 0


def _open_sessions() -> list[Any]:
    module = sys.modules.get("ascend_infer.lifetime")
    return module.open_sessions() if module else []


def _device_memory() -> Mapping[tuple[str, str], int]:
    module = sys.modules.get("ascend_infer.backends.acl_device")
    return module.memory_in_use() if module else {}
