"""Scheduling without a batcher: a request takes an idle instance, or waits for one.

A short run happens on the caller's own thread, with no handoff. A run goes to the instance's worker when the
caller could want to leave before it ends: its first time with these shapes, when it was measured to take
long and the caller is the main thread (which gets Ctrl-C), or when its deadline could pass.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

from ascend_infer.backends.base import Array, Deadline, Executable
from ascend_infer.device_pointer import wait_until_returned
from ascend_infer.errors import DeadlineExceededError, RequestCancelledError
from ascend_infer.output_array import fill_out
from ascend_infer.scheduling.worker import Job, Worker

__all__ = ["DirectScheduler", "Outcome"]

#: Nanoseconds from which on a run counts as long: Ctrl-C has to work within 0.3 s.
_LONG = 50_000_000

#: Shapes whose duration is remembered; beyond, the memory starts afresh.
_REMEMBERED = 4096

_MAIN = threading.main_thread().ident


class Outcome(NamedTuple):
    """What a run gave, and ``time.perf_counter_ns`` when it began and ended."""

    arrays: list[Array]
    begun: int
    ended: int


class _Instance:
    __slots__ = ("executable", "interruptible", "lock", "worker")

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.interruptible = executable.interruptible
        # Only ever taken by `with`: CPython lets no signal in between its acquisition and its block, so a
        # Ctrl-C cannot leave it taken.
        self.lock = threading.Lock()
        self.worker = Worker(executable, self.lock)


class DirectScheduler:
    """Runs requests on the instances of one model.

    Parameters
    ----------
    model : str
    executables : sequence of Executable
        One entry for each batch that may run at the same time: an instance with two slots comes twice.

    Notes
    -----
    Thread safety: ``run`` may be called from any number of threads.
    """

    def __init__(self, model: str, executables: Sequence[Executable]) -> None:
        self._model = model
        self._instances = [_Instance(executable) for executable in executables]
        self._turn = count()
        self._durations: dict[object, int] = {}

    def run(
        self,
        feed: Mapping[str, Array],
        names: tuple[str, ...],
        out: Mapping[str, Array] | None = None,
        timeout: float | None = None,
    ) -> Outcome:
        """Run one batch; blocks until it is done.

        Parameters
        ----------
        feed, names, out
            As in ``Executable.execute``.
        timeout : float, optional
            Seconds until the result is no longer wanted, waiting for an instance included.

        Raises
        ------
        DeadlineExceededError
            The run was told to stop; its instance is free again as soon as it does.
        ModelExecutionError
        KeyboardInterrupt
            On the main thread; the run was told to stop.
        """
        shapes = tuple([array.shape for array in feed.values()])
        expected = self._durations.get(shapes)
        instance = self._instances[0] if len(self._instances) == 1 else self._idle()
        deadline = None
        if instance.interruptible:
            may_leave = False
            if timeout is not None:
                deadline = Deadline(timeout)
                # A wait for the instance itself is only left by way of a worker.
                may_leave = instance.lock.locked()
        elif timeout is None:
            may_leave = (expected is None or expected > _LONG) and threading.get_ident() == _MAIN
        else:
            # Half the timeout is 5e8 ns for each second of it.
            may_leave = expected is None or expected > min(_LONG, timeout * 5e8) or instance.lock.locked()
        if may_leave:
            outcome = self._run_on_worker(feed, names, timeout)
            if out:
                outcome = outcome._replace(arrays=fill_out(names, outcome.arrays, out))
        else:
            with instance.lock:
                begun = time.perf_counter_ns()
                if deadline is None:
                    arrays = instance.executable.execute(feed, names, out)
                else:
                    arrays = self._run_until(deadline, instance.executable, feed, names, out)
                ended = time.perf_counter_ns()
            outcome = Outcome(arrays, begun, ended)
        self._remember(shapes, expected, outcome.ended - outcome.begun)
        return outcome

    def close(self, timeout: float = 5.0) -> bool:
        """Let queued and running jobs finish, for at most ``timeout`` seconds, then tell them to stop.

        Returns
        -------
        bool
            Whether every thread has ended.
        """
        for instance in self._instances:
            instance.worker.stop()
        deadline = time.monotonic() + timeout
        if all(i.worker.join(max(0.0, deadline - time.monotonic())) for i in self._instances):
            return True
        for instance in self._instances:
            instance.worker.cancel()
        return all(instance.worker.join(1.0) for instance in self._instances)

    def abandon(self) -> None:
        """Let the threads end by themselves; returns at once, so that a finalizer may call it."""
        for instance in self._instances:
            instance.worker.stop()
            instance.worker.cancel()

    def _idle(self) -> _Instance:
        for instance in self._instances:
            if not instance.lock.locked():
                return instance
        return self._instances[next(self._turn) % len(self._instances)]

    def _run_until(
        self,
        deadline: Deadline,
        executable: Executable,
        feed: Mapping[str, Array],
        names: tuple[str, ...],
        out: Mapping[str, Array] | None,
    ) -> list[Array]:
        try:
            arrays = executable.execute(feed, names, out, deadline)
        except RequestCancelledError:
            raise self._too_late(deadline.timeout) from None
        if deadline.requested:
            # The wish is looked at now and then only; late is late.
            raise self._too_late(deadline.timeout)
        return arrays

    def _too_late(self, timeout: float | None) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"model {self._model!r}: no result within the timeout of {timeout:g} s", timeout=timeout
        )

    def _run_on_worker(
        self,
        feed: Mapping[str, Array],
        names: tuple[str, ...],
        timeout: float | None,
    ) -> Outcome:
        # The caller's own output arrays are filled afterwards: nothing writes to them once the caller has
        # left.
        job = Job(feed, names)
        least = min(self._instances, key=lambda instance: instance.worker.pending + instance.lock.locked())
        least.worker.submit(job)
        try:
            finished = job.wait(timeout)
        except BaseException:
            job.cancellation.request()
            wait_until_returned(feed)  # the worker may be reading the caller's memory on the device
            raise
        if not finished:
            job.cancellation.request()
            wait_until_returned(feed)
            raise self._too_late(timeout)
        if job.error is not None:
            raise job.error
        return Outcome(job.arrays, job.begun, job.ended)

    def _remember(self, shapes: object, expected: int | None, measured: int) -> None:
        if expected is None:
            if len(self._durations) >= _REMEMBERED:
                self._durations.clear()
            self._durations[shapes] = measured
        else:
            self._durations[shapes] = (3 * expected + measured) // 4
