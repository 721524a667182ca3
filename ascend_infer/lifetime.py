"""What becomes of sessions that nobody closes: dropped ones, and those that a fork copied."""

from __future__ import annotations

import _thread
import logging
import os
import warnings
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from ascend_infer.errors import AscendInferError, UnclosedResourceWarning

if TYPE_CHECKING:
    from ascend_infer.backends.base import LoadedModel
    from ascend_infer.loading import Loaded

__all__ = ["close_model", "inherited", "open_sessions", "reap", "track"]

logger = logging.getLogger("ascend_infer")

#: Seconds of one wait for a device that hangs.
_SLICE = 0.25


class Tracked(Protocol):
    """A session: it has to know when its process was forked."""

    _core: Loaded | None

    def forked(self) -> None:
        """Called in the child."""
        ...


_tracked: weakref.WeakSet[Tracked] = weakref.WeakSet()

#: A forked child keeps its parent's models to the end: freeing one joins threads that the child does not have.
inherited: list[Loaded] = []


def track(session: Tracked) -> None:
    """Have ``session.forked()`` called in every forked child."""
    _tracked.add(session)


def open_sessions() -> list[Any]:
    """Return the sessions of this process that are loaded and not closed; for tests and diagnosis."""
    return [session for session in list(_tracked) if session._core is not None]


def _after_fork() -> None:
    for session in list(_tracked):
        session.forked()


os.register_at_fork(after_in_child=_after_fork)


def reap(core: Loaded) -> None:
    """Close what a dropped session had, and warn; for a finalizer, which must not wait for a device."""
    core.scheduler.abandon()
    core.accounts.close()
    if core.origin.device == "cpu":
        core.model.close()
    else:
        _thread.start_new_thread(_close, (core,))
    warnings.warn(
        f"session of model {core.origin.model!r} was dropped without close(); use `with Session(...)`",
        UnclosedResourceWarning,
        stacklevel=2,
    )


def close_model(core: Loaded, seconds: float) -> None:
    """Give back what a session's model has; what its device still runs after some seconds is waited for by a thread.

    Raises
    ------
    AclError
        A call of the runtime failed; everything was given back all the same.
    """
    if not core.model.close_within(seconds):
        logger.warning(
            "%s goes on with a run after %.3g s; what the model has there is given back when that ends",
            core.origin.device,
            seconds,
        )
        _thread.start_new_thread(_finish, (core.model,))


def _finish(model: LoadedModel) -> None:
    # In slices: at the interpreter's end another thread closes it, and must not wait for this one.
    with suppress(AscendInferError):
        while not model.close_within(_SLICE):
            pass


def _close(core: Loaded) -> None:
    core.scheduler.close()
    # Nobody is there to be told; what a device could not give back shows in its pools' numbers.
    with suppress(AscendInferError):
        core.model.close()
