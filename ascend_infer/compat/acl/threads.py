"""``acl.util.start_thread``: threads that serve callbacks, known by the number that ``subscribe_report`` takes."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

__all__ = ["start_thread", "stop_thread"]

_NO_SUCH_THREAD = 3  # ESRCH, as pthread_join says

_lock = threading.Lock()
_threads: dict[int, tuple[threading.Thread, list[str]]] = {}


def start_thread(function: Callable[..., Any], arguments: Any) -> tuple[int, int]:
    """Run ``function(arguments)`` on a new thread, ``function()`` for None; returns its number and 0."""
    if not callable(function):
        raise TypeError("parameter must be callable")
    failures: list[str] = []
    known = threading.Event()

    def run() -> None:
        known.set()
        try:
            function() if arguments is None else function(arguments)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            failures.append(f"exception={type(error).__name__},msg=thread call failed")

    thread = threading.Thread(target=run, name="acl.util.start_thread", daemon=True)
    thread.start()
    known.wait()
    assert thread.ident is not None  # pthread_self's number on Linux
    with _lock:
        _threads[thread.ident] = (thread, failures)
    return thread.ident, 0


def stop_thread(number: int) -> int:
    """Wait for a thread to end; returns 0.

    Raises
    ------
    RuntimeError
        Its function raised.
    """
    with _lock:
        found = _threads.pop(number, None)
    if found is None:
        return _NO_SUCH_THREAD
    thread, failures = found
    thread.join()
    if failures:
        raise RuntimeError(";".join(failures))
    return 0
