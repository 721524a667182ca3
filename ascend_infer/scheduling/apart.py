"""A run on a thread of its own, for a caller who has to hear signals meanwhile."""

from __future__ import annotations

import _thread
from collections.abc import Mapping

from ascend_infer.backends.base import Array, Cancellation, Executable

__all__ = ["run_apart"]

#: Seconds; a signal that comes just before a wait begins is noticed only after it.
_SLICE = 0.05


def run_apart(executable: Executable, feed: Mapping[str, Array], names: tuple[str, ...]) -> list[Array]:
    """Run one batch; blocks until it is done, or a signal's handler raises and the run was told to stop.

    Raises
    ------
    AscendInferError
        The run's own.
    """
    if executable.interruptible:
        return executable.execute(feed, names)
    cancellation = Cancellation()
    over = _thread.allocate_lock()
    over.acquire()
    outcome: list[list[Array]] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(executable.execute(feed, names, None, cancellation))
        except BaseException as error:
            failure.append(error)
        finally:
            over.release()

    _thread.start_new_thread(work, ())
    try:
        while not over.acquire(timeout=_SLICE):
            pass
    except BaseException:
        cancellation.request()
        raise
    if failure:
        raise failure[0]
    return outcome[0]
