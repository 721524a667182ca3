"""Sessions that came pickled from another process: one for all copies of the same one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

__all__ = ["pickled"]


class Closable(Protocol):
    """A session."""

    @property
    def closed(self) -> bool: ...


Item = TypeVar("Item", bound=Closable)

#: Names this process among those of all machines that a pickle may come from.
_here = os.urandom(8)

_lock = threading.Lock()
_arrived: dict[str, Closable] = {}


def pickled(make: Callable[[Any], Item], options: Any) -> tuple[Any, ...]:
    """Return what ``__reduce__`` returns: there, ``make(options)`` is called, or an equal one taken.

    Pools pickle a session with every task: a worker opens the first, and keeps it to its end. A pickle that comes back
    to this very process stands for one of its own.

    Parameters
    ----------
    make : callable
        Of a module; must not block.
    options : object
        Plain values; ``repr`` tells equal ones.
    """
    return _arrive, (_here, make, options)


def _arrive(origin: bytes, make: Callable[[Any], Item], options: Any) -> Item:
    if origin == _here:
        return make(options)
    with _lock:
        found = _arrived.get(repr(options))
        if found is None or found.closed:
            found = _arrived[repr(options)] = make(options)
        return found  # type: ignore[return-value]  # of one kind of options there is one kind of item


def _forget() -> None:
    global _here, _lock
    _here = os.urandom(8)
    _lock = threading.Lock()
    _arrived.clear()


os.register_at_fork(after_in_child=_forget)
