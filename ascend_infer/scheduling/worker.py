"""A thread that runs an instance's jobs, so that whoever waits for one can stop waiting.

A call into a runtime cannot be left before it ends; a wait for another thread can. Runs that may take long,
or whose deadline may pass, therefore happen here.
"""

from __future__ import annotations

import _thread
import atexit
import math
import threading
import time
import weakref
from collections.abc import Mapping
from queue import Empty, SimpleQueue

from ascend_infer.backends.base import Array, Cancellation, Executable
from ascend_infer.errors import ClosedError, RequestCancelledError

__all__ = ["Job", "Worker", "live_threads"]

#: Seconds that the end of the interpreter waits for all workers together.
_EXIT_LIMIT = 2.0

#: Seconds.
_SLICE = 0.05

_MAIN = threading.main_thread().ident

_live: weakref.WeakSet[_State] = weakref.WeakSet()


class Job:
    """One execution and its outcome.

    Attributes
    ----------
    begun, ended : int
        ``time.perf_counter_ns`` around the run.
    """

    __slots__ = ("_done", "arrays", "begun", "cancellation", "ended", "error", "feed", "names")

    def __init__(self, feed: Mapping[str, Array], names: tuple[str, ...]) -> None:
        self.feed = feed
        self.names = names
        self.cancellation = Cancellation()
        self._done = _thread.allocate_lock()
        self._done.acquire()
        self.arrays: list[Array] = []
        self.error: BaseException | None = None
        self.begun = self.ended = 0

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the outcome, once; returns whether it is there. A signal may break it off, harmlessly.

        The main thread waits in slices: a signal that comes just before a wait begins is noticed only after it.
        """
        if _thread.get_ident() != _MAIN:
            return self._done.acquire(timeout=-1 if timeout is None else timeout)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            if self._done.acquire(timeout=max(0.0, min(left, _SLICE))):
                return True
            if left <= _SLICE:
                return False

    def refuse(self, error: BaseException) -> None:
        """End it without running."""
        self.error = error
        self._done.release()

    def run(self, executable: Executable) -> None:
        """Run it on this thread; never raises."""
        self.begun = time.perf_counter_ns()
        try:
            if self.cancellation.requested:
                raise RequestCancelledError("the request was given up before it ran")
            self.arrays = executable.execute(self.feed, self.names, None, self.cancellation)
        except BaseException as error:
            self.error = error
        self.ended = time.perf_counter_ns()
        self._done.release()


class Worker:
    """One thread and its queue; starts with the first job. It does not keep the interpreter from ending.

    Parameters
    ----------
    executable : Executable
    lock : lock
        Held while the executable runs.

    Notes
    -----
    Thread safety: all methods may be called from any thread. ``stop`` never blocks and may run in a finalizer.
    """

    def __init__(self, executable: Executable, lock: threading.Lock) -> None:
        self._state = _State(executable, lock)
        self._start_lock = threading.Lock()

    @property
    def pending(self) -> int:
        """Jobs that wait or run; a moment's view."""
        return self._state.jobs.qsize() + len(self._state.running)

    @property
    def running(self) -> bool:
        """Whether a job is in the runtime; a moment's view."""
        return bool(self._state.running)

    def submit(self, job: Job) -> None:
        """Queue a job behind those that are there; returns at once.

        A job that comes after ``stop`` fails with ``ClosedError``.
        """
        state = self._state
        state.jobs.put(job)
        if not state.started:
            with self._start_lock:
                if not state.started:
                    _live.add(state)
                    # A signal between these two starts a second thread with the next job; it ends at once.
                    _thread.start_new_thread(_work, (state,))
                    state.started = True
        if state.ended:
            _refuse(state.jobs)

    def stop(self) -> None:
        """Let the thread end after the jobs that are queued; returns at once."""
        self._state.jobs.put(None)

    def cancel(self) -> None:
        """Ask the run under way to end soon; returns at once."""
        for job in tuple(self._state.running):
            job.cancellation.request()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the thread to end; returns whether it has, or never started. Never waits for itself."""
        with self._start_lock:
            if not self._state.started:
                return True
        return self._state.join(timeout)


class _State:
    """What the thread holds; not the worker, so that a dropped worker can be collected."""

    __slots__ = (
        "__weakref__",
        "_over",
        "claim",
        "ended",
        "executable",
        "ident",
        "jobs",
        "lock",
        "running",
        "started",
    )

    def __init__(self, executable: Executable, lock: threading.Lock) -> None:
        self.executable = executable
        self.lock = lock
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        self.running: list[Job] = []
        self.started = False
        self.ended = False
        self.ident = 0
        self.claim = _thread.allocate_lock()
        self._over = _thread.allocate_lock()
        self._over.acquire()

    def end(self) -> None:
        self.ended = True
        self._over.release()

    def join(self, timeout: float | None) -> bool:
        if self.ident == _thread.get_ident():
            return True
        if not self.ended and self._over.acquire(timeout=-1 if timeout is None else timeout):
            self._over.release()
        return self.ended


def _work(state: _State) -> None:
    if not state.claim.acquire(blocking=False):
        return
    state.ident = _thread.get_ident()
    while True:
        job = state.jobs.get()
        if job is None:
            # Whoever puts a job after this either finds the mark or has it taken here.
            state.end()
            _refuse(state.jobs)
            return
        with state.lock:
            state.running.append(job)
            job.run(state.executable)
            state.running.clear()
        # The wait for the next job must not keep this one's arrays alive.
        del job


def live_threads() -> int:
    """Return how many worker threads there are in the process; for tests and diagnosis."""
    return sum(state.started and not state.ended for state in list(_live))


def _refuse(jobs: SimpleQueue[Job | None]) -> None:
    while True:
        try:
            job = jobs.get_nowait()
        except Empty:
            return
        if job is not None:
            job.refuse(ClosedError("the session was closed before this request ran"))


@atexit.register
def _end_all() -> None:
    """Have no thread inside a runtime while the interpreter goes away."""
    states = [state for state in list(_live) if not state.ended]
    for state in states:
        state.jobs.put(None)
        for job in tuple(state.running):
            job.cancellation.request()
    deadline = time.monotonic() + _EXIT_LIMIT
    for state in states:
        state.join(max(0.0, deadline - time.monotonic()))
