"""Places at the devices: who may run a batch now, and how busy each device was."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ascend_infer.scoring.busy_time import BusyTime
from ascend_infer.scoring.model import ScoredSession

__all__ = ["Lane", "Lanes", "lanes_of"]


def lanes_of(session: ScoredSession) -> int:
    """Return how many batches of a session may be under way at once: the slots of its instances."""
    return sum(instance.slots for instance in session.instances)


class Lane:
    """A place for one batch.

    Attributes
    ----------
    session : Session
        Which is to run it.
    waited_ns : int
        How long it took to get the place.
    instance : str
        To be set to the name of the instance that ran it, once that is known.
    """

    __slots__ = ("begun", "instance", "session", "waited_ns")

    def __init__(self, session: ScoredSession, asked: int) -> None:
        self.session = session
        self.begun = time.perf_counter_ns()
        self.waited_ns = self.begun - asked
        self.instance = ""


class Lanes:
    """Hands out the sessions, each as often as it can run batches at the same time, the least busy first.

    A session puts a batch on whichever of its devices is free, and says afterwards which one that was.

    Attributes
    ----------
    devices : tuple of (str, int)
        Each device of each session, and how many batches it runs at once.

    Thread safety: all methods, from any number of threads.
    """

    def __init__(self, sessions: Sequence[ScoredSession]) -> None:
        self.sessions = tuple(sessions)
        self._condition = threading.Condition()
        counts = [lanes_of(session) for session in sessions]
        self.total = sum(counts)
        # Dealt in turn, so that every session gets its first batch before any gets a second.
        self._free = deque(
            index for turn in range(max(counts)) for index, count in enumerate(counts) if turn < count
        )
        slots: dict[tuple[int, str], int] = {}
        for index, session in enumerate(sessions):
            for instance in session.instances:
                place = (index, instance.device)
                slots[place] = slots.get(place, 0) + instance.slots
        self.devices = tuple((device, count) for (_, device), count in slots.items())
        self._busy = {place: BusyTime() for place in slots}
        self._device_of = [
            {instance.name: instance.device for instance in session.instances} for session in sessions
        ]
        self._running: set[Lane] = set()
        self._waiting = 0

    @contextmanager
    def lane(self) -> Iterator[Lane]:
        """Wait for a place, and have it until the end of the ``with``."""
        asked = time.perf_counter_ns()
        with self._condition:
            self._waiting += 1
            try:
                while not self._free:
                    self._condition.wait()
            finally:
                self._waiting -= 1
            index = self._free.popleft()
            lane = Lane(self.sessions[index], asked)
            self._running.add(lane)
        try:
            yield lane
        finally:
            with self._condition:
                self._running.remove(lane)
                self._count(index, lane)
                self._free.append(index)
                self._condition.notify()

    def _count(self, index: int, lane: Lane) -> None:
        ended = time.perf_counter_ns()
        oldest = min((other.begun for other in self._running), default=ended)
        devices = self._device_of[index]
        device = devices.get(lane.instance)
        # A batch that failed says nothing; where there is one device it was there.
        if device is None and len(set(devices.values())) == 1:
            device = next(iter(devices.values()))
        if device is not None:
            self._busy[index, device].add(lane.begun, ended, oldest)

    @property
    def waiting(self) -> int:
        """How many wait for a place now."""
        return self._waiting

    def busy_ns(self) -> list[int]:
        """Return for each of the devices how long it had at least one batch, of those that are done."""
        with self._condition:
            return [busy.ns for busy in self._busy.values()]
