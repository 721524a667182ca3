"""The source cut into chunks, handed out in order, and their results put in order again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ascend_infer.scoring.rows import Row, ScoredRow

__all__ = ["Chunk", "Chunks"]

#: Seconds for which results gather before they are taken away.
_LINGER = 0.05


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a thread does at a time."""

    number: int
    rows: list[Row]

    def batches(self, size: int) -> Iterator[tuple[int, list[Row]]]:
        """Give the rows that run together, and the place of the first: always the same ones, wherever a run began."""
        for first in range(0, len(self.rows), size):
            yield first, self.rows[first : first + size]


class Chunks:
    """Between the threads that work and the one that writes.

    Reading stops while too much is under way, so that memory is bounded by ``window`` chunks and their results.

    Parameters
    ----------
    rows : iterator of Row
        Read by one thread at a time.
    size : int
        Rows of a chunk.
    window : int
        Chunks that may be handed out and not yet taken away again.

    Thread safety: ``take``, ``put`` and ``fail`` from any thread; ``results`` from one.
    """

    def __init__(self, rows: Iterator[Row], size: int, window: int) -> None:
        self._rows = rows
        self._size = size
        self._window = window
        self._reading = threading.Lock()
        lock = threading.Lock()
        self._condition = threading.Condition(lock)
        self._writer = threading.Condition(lock)
        self._wanted = 1  # results that it waits for
        self._next = 0
        self._written = 0
        self._done: dict[int, list[ScoredRow]] = {}
        self._count: int | None = None
        self._failure: tuple[int, BaseException] | None = None
        self._stopped = False
        self.read_ns = 0

    def take(self) -> Chunk | None:
        """Return the next rows; None when there are no more, or the run stops. Blocks while too much is under way."""
        with self._reading:
            with self._condition:
                while not self._over() and self._next >= self._written + self._window:
                    self._condition.wait()
                if self._over():
                    return None
            begun = time.perf_counter_ns()
            try:
                rows = list(islice(self._rows, self._size))
            except BaseException as error:
                # A generator that has raised seems to have ended to whoever asks again.
                self.fail(self._next, error)
                return None
            self.read_ns += time.perf_counter_ns() - begun
            with self._condition:
                if len(rows) < self._size:
                    self._count = self._next + bool(rows)
                    self._wake_all()
                if not rows:
                    return None
                chunk = Chunk(self._next, rows)
                self._next += 1
                return chunk

    def put(self, number: int, rows: list[ScoredRow]) -> None:
        """Hand in a chunk's results."""
        with self._condition:
            self._done[number] = rows
            if len(self._done) >= self._wanted or number + 1 == self._count:
                self._writer.notify()

    def fail(self, number: int, error: BaseException) -> None:
        """End the run for this reason, which a chunk has; of several the one that is first in the source's order."""
        with self._condition:
            if self._failure is None or number < self._failure[0]:
                self._failure = number, error
            self._wake_all()

    def stop(self) -> None:
        """Hand out nothing more."""
        with self._condition:
            self._stopped = True
            self._wake_all()

    def results(self) -> Iterator[list[ScoredRow]]:
        """Give the results in the source's order; raises what a chunk failed with in its place."""
        while True:
            with self._condition:
                # Chunks before one that failed are handed out already, and come or fail themselves.
                while self._written not in self._done:
                    if self._failure is not None and self._written >= self._failure[0]:
                        raise self._failure[1]
                    if self._stopped or self._written == self._count:
                        return
                    self._wait_for_several()
                rows = self._done.pop(self._written)
                self._written += 1
                if self._next + 1 >= self._written + self._window:
                    self._condition.notify()
            yield rows

    def _wait_for_several(self) -> None:
        """Leave the workers' cores to them: wake for the first result, and then for many at once or after a while."""
        self._wanted = 1
        self._writer.wait()
        if not self._over():
            self._wanted = max(1, self._window // 2)
            self._writer.wait(_LINGER)

    def _wake_all(self) -> None:
        self._condition.notify_all()
        self._writer.notify_all()

    def _over(self) -> bool:
        return self._stopped or self._count is not None or self._failure is not None
