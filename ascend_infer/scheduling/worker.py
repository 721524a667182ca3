"""A thread that runs an instance's jobs, so that whoever waits for one can stop waiting.

A call into a runtime cannot be left before it ends; a wait for another thread can. Runs that may take long,
or whose deadline may pass, therefore happen here.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Mapping
from queue import Empty, SimpleQueue

from ascend_infer.backends.base import Array, Cancellation, Executable
from ascend_infer.errors import ClosedError, RequestCancelledError

__all__ = ["Job", "Worker"]

#: Seconds that the end of the interpreter waits for all workers together.
_EXIT_LIMIT = 2.0

_live: weakref.WeakSet[Worker] = weakref.WeakSet()


class Job:
    """One execution and its outcome.

    Attributes
    ----------
    done : threading.Event
        Set when ``arrays`` or ``error`` is there.
    begun, ended : int
        ``time.perf_counter_ns`` around the run.
    """

    __slots__ = ("arrays", "begun", "cancellation", "done", "ended", "error", "feed", "names")

    def __init__(self, feed: Mapping[str, Array], names: tuple[str, ...]) -> None:
        self.feed = feed
        self.names = names
        self.cancellation = Cancellation()
        self.done = threading.Event()
        self.arrays: list[Array] = []
        self.error: BaseException | None = None
        self.begun = self.ended = 0

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
        self.done.set()


class Worker:
    """One daemon thread and its queue; starts with the first job.

    Parameters
    ----------
    name : str
        The thread's name.
    executable : Executable
    lock : threading.Lock
        Held while the executable runs.

    Notes
    -----
    Thread safety: all methods may be called from any thread. ``stop`` never blocks and may run in a
    finalizer.
    """

    def __init__(self, name: str, executable: Executable, lock: threading.Lock) -> None:
        self.name = name
        self._executable = executable
        self._lock = lock
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._start_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._running: list[Job] = []
        self._ended = threading.Event()

    @property
    def pending(self) -> int:
        """Jobs that wait or run; a moment's view."""
        return self._jobs.qsize() + len(self._running)

    def submit(self, job: Job) -> None:
        """Queue a job behind those that are there; returns at once.

        A job that comes after ``stop`` fails with ``ClosedError``.
        """
        self._jobs.put(job)
        if self._thread is None:
            with self._start_lock:
                if self._thread is None:
                    thread = threading.Thread(
                        target=_work,
                        args=(self._jobs, self._executable, self._lock, self._running, self._ended),
                        name=self.name,
                        daemon=True,
                    )
                    thread.start()
                    self._thread = thread
                    _live.add(self)
        if self._ended.is_set():
            _refuse(self._jobs)

    def stop(self) -> None:
        """Let the thread end after the jobs that are queued; returns at once."""
        self._jobs.put(None)

    def cancel(self) -> None:
        """Ask the run under way to end soon; returns at once."""
        for job in tuple(self._running):
            job.cancellation.request()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the thread to end; returns whether it has. Never waits for itself."""
        # The thread may have its first job before whoever starts it has noted it.
        with self._start_lock:
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()


def _work(
    jobs: SimpleQueue[Job | None],
    executable: Executable,
    lock: threading.Lock,
    running: list[Job],
    ended: threading.Event,
) -> None:
    while True:
        job = jobs.get()
        if job is None:
            # Whoever puts a job after this either finds the mark or has it taken here.
            ended.set()
            _refuse(jobs)
            return
        with lock:
            running.append(job)
            job.run(executable)
            running.clear()
        # The wait for the next job must not keep this one's arrays alive.
        del job


def _refuse(jobs: SimpleQueue[Job | None]) -> None:
    while True:
        try:
            job = jobs.get_nowait()
        except Empty:
            return
        if job is not None:
            job.error = ClosedError("the session was closed before this request ran")
            job.done.set()


@atexit.register
def _end_all() -> None:
    """Have no thread inside a runtime while the interpreter goes away."""
    workers = list(_live)
    for worker in workers:
        worker.stop()
        worker.cancel()
    deadline = time.monotonic() + _EXIT_LIMIT
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
