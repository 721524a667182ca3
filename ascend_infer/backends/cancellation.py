"""A request's wish to stop, by its caller or by its time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["Cancellation", "Deadline"]


class Cancellation:
    """One request's wish to stop, told to whatever is running it.

    Thread safety: ``request`` and ``arm`` may race from different threads; the hook runs exactly once when
    both have happened.
    """

    __slots__ = ("_hook", "_lock", "_requested")

    def __init__(self) -> None:
        self._requested = False
        self._hook: Callable[[], None] | None = None
        self._lock = threading.Lock()

    @property
    def requested(self) -> bool:
        """Whether the work is to end."""
        return self._requested

    def request(self) -> None:
        """Ask the running work to end soon; returns at once."""
        with self._lock:
            self._requested = True
            hook, self._hook = self._hook, None
        if hook is not None:
            hook()

    def arm(self, hook: Callable[[], None]) -> None:
        """Register what makes the run end; called by a backend before it runs."""
        with self._lock:
            if not self.requested:
                self._hook = hook
                return
        hook()

    def disarm(self) -> None:
        """Forget the hook; called by a backend after it ran."""
        with self._lock:
            self._hook = None


class Deadline(Cancellation):
    """A wish to stop that comes by itself, some seconds from now."""

    __slots__ = ("__weakref__", "_at")

    def __init__(self, timeout: float) -> None:
        super().__init__()
        self._at = time.monotonic() + timeout

    @property
    def requested(self) -> bool:
        """Whether the time has come, or the wish was made before."""
        return self._requested or time.monotonic() >= self._at
