"""One process at a time: a lock on a file, which the kernel releases when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ascend_infer.doctor.bounded_process import Deadline

__all__ = ["file_lock"]

_log = logging.getLogger("ascend_infer.compile")
# flock has no time limit of its own; what is waited for takes minutes.
_POLL_SECONDS = 0.1
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


@contextmanager
def file_lock(
    path: Path,
    deadline: Deadline,
    *,
    on_wait: Callable[[], None] = lambda: None,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[bool]:
    """Hold an exclusive lock on a file, which is made and stays.

    Parameters
    ----------
    path : Path
    deadline : Deadline
    on_wait : callable
        Called once when someone else holds it.
    pause : callable
        Waits for some seconds.

    Yields
    ------
    bool
        True; False on file systems that have no locks, where nothing is held.

    Raises
    ------
    TimeoutError
        When the deadline passes first.
    OSError
        When the file cannot be made.

    Notes
    -----
    Excludes other processes and other threads of this one. The file is never deleted: a waiter might hold it.
    """
    # Not inherited by the compiler: the lock ends with this process.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield _acquire(descriptor, path, deadline, on_wait, pause)
    finally:
        os.close(descriptor)


def _acquire(
    descriptor: int,
    path: Path,
    deadline: Deadline,
    on_wait: Callable[[], None],
    pause: Callable[[float], None],
) -> bool:
    waiting = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if deadline.remaining <= 0:
                raise TimeoutError(f"{path} is still locked") from None
            if not waiting:
                waiting = True
                on_wait()
            pause(min(_POLL_SECONDS, deadline.remaining))
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            _log.warning("%s: this file system has no locks, so that a model may be compiled twice", path)
            return False
        else:
            return True
