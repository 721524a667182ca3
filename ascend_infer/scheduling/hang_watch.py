"""Instances that hang in a run which nobody waits for any more: out of service until it ends."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial

from ascend_infer._native import Lane, RequestBatch, RequestQueue
from ascend_infer.scheduling import timekeeper
from ascend_infer.scheduling.instance_state import InstanceState

__all__ = ["HangWatch"]

logger = logging.getLogger("ascend_infer")

#: Nanoseconds between two looks at a device that hangs.
_AGAIN = 100_000_000


class HangWatch:
    """Takes instances of one model out of service, and back into it.

    Parameters
    ----------
    queue : RequestQueue
    lanes : sequence of Lane
        All of the model.
    patience : float
        Seconds that such a run may go on; a model that is known to be slow is given four times the longest run that
        somebody waited for.

    Notes
    -----
    A run hangs in two ways. Its thread is still in it; or its caller has left it and the thread has come back, while
    the device goes on, as it does where batches are queued to a stream (``backends.base.LeavingExecutable``).

    Thread safety: all methods, from any number of threads.
    """

    def __init__(self, queue: RequestQueue, lanes: Sequence[Lane], patience: float) -> None:
        self._queue = queue
        self._lanes = lanes
        self._patience = patience
        self._lock = threading.Lock()  # held where an instance leaves service or comes back
        self._looked_at: set[InstanceState] = set()
        for number, lane in enumerate(lanes):
            if hasattr(lane.executable, "on_left"):
                lane.executable.on_left = partial(_left, weakref.ref(self), number)

    @property
    def _wait(self) -> int:
        return max(int(self._patience * 1e9), 4 * self._queue.longest)

    def abandoned(self, batch: RequestBatch) -> None:
        """Have a look at a batch that runs and that nobody wants any more, when it has had its time."""
        timekeeper.at(time.perf_counter_ns() + self._wait, self, lambda watch: watch.give_up(batch))

    def give_up(self, batch: RequestBatch) -> int:
        """Take the instance out of service whose thread is still in this batch's run; the thread is left.

        Returns 0: it need not be looked at again.
        """
        with self._lock:
            for lane in self._lanes:
                instance = lane.instance
                if lane.batch is batch and lane not in instance.hanging:
                    instance.hanging.add(lane)
                    self._take_out(instance)
        return 0

    def left(self, number: int) -> None:
        """Have a look at the instance of a lane whose device goes on with a batch that was left."""
        lane = self._lanes[number]
        with self._lock:
            if lane.instance in self._looked_at:
                return
            self._looked_at.add(lane.instance)
        timekeeper.at(time.perf_counter_ns() + self._wait, self, lambda watch: watch.look(lane))

    def look(self, lane: Lane) -> int:
        """Take the lane's instance out of service, or back into it; returns when to look again, 0 for never."""
        instance = lane.instance
        runs_for = 0 if self._queue.closed else lane.executable.reclaim()
        with self._lock:
            if not runs_for:
                self._looked_at.discard(instance)
                if instance.device_hangs:
                    instance.device_hangs = False
                    self._bring_back(instance)
                return 0
            early = self._wait - runs_for
            if early <= 0 and not instance.device_hangs and not instance.reason:
                instance.device_hangs = True
                self._take_out(instance)
        return time.perf_counter_ns() + (early if early > 0 else _AGAIN)

    def thread_ended(self, lane: Lane, renew: Callable[[], None]) -> None:
        """Note that a lane's thread has come back and ended; ``renew`` makes what the next one needs."""
        with self._lock:
            if not lane.started:
                renew()
            lane.instance.hanging.discard(lane)
            self._bring_back(lane.instance)

    def _take_out(self, instance: InstanceState) -> None:
        if instance.state != "UNAVAILABLE":
            logger.error(
                "%s on %s: a run that nobody waits for any more goes on after %g s; the instance is out of service "
                "until it ends",
                instance.name,
                instance.device,
                self._patience,
            )
        instance.state = "UNAVAILABLE"
        for lane in self._lanes:
            if lane.instance is instance:
                self._queue.retire(lane)

    def _bring_back(self, instance: InstanceState) -> None:
        given_up = [lane for lane in self._lanes if lane.instance is instance and not lane.usable]
        if instance.hanging or instance.device_hangs or instance.reason or not given_up or self._queue.closed:
            return
        instance.state = "READY"
        for lane in given_up:
            self._queue.restore(lane)
        logger.warning("%s: the run that was given up has ended; in service again", instance.name)


def _left(watch: weakref.ref[HangWatch], number: int) -> None:
    # Called by the executable, which must not keep the scheduler alive.
    looker = watch()
    if looker is not None:
        looker.left(number)
