"""What each thread does with a few rows: prepare, run, rank."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ascend_infer.errors import InvalidInputError, ModelExecutionError
from ascend_infer.result import InferResult
from ascend_infer.scoring.chunks import Chunk
from ascend_infer.scoring.feeding import Feeder
from ascend_infer.scoring.lanes import Lanes
from ascend_infer.scoring.padding import Padding
from ascend_infer.scoring.ranking import OutputColumns
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.samples import Array

__all__ = ["StageTimes", "Work"]

#: What is wrong with these rows and not with the run.
_OF_THE_ROWS = (InvalidInputError, ModelExecutionError)


@dataclass(slots=True)
class StageTimes:
    """Nanoseconds in each stage, over all threads, and what ran.

    Attributes
    ----------
    prepare_ns, queue_ns, infer_ns, rank_ns : int
    runs, rows, launched_rows : int
        Executions of the model, rows in them, and rows with padding.
    """

    prepare_ns: int = 0
    queue_ns: int = 0
    infer_ns: int = 0
    rank_ns: int = 0
    runs: int = 0
    rows: int = 0
    launched_rows: int = 0

    def add(self, other: StageTimes) -> None:
        """Take in another's numbers."""
        for name in _STAGES:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_STAGES = tuple(item.name for item in fields(StageTimes))


class Work:
    """Everything that a thread needs to turn a chunk into rows of the output.

    Thread safety: ``score`` may be called from any number of threads at once.
    """

    def __init__(
        self,
        feeder: Feeder,
        lanes: Lanes,
        columns: OutputColumns,
        padding: Padding,
        batch: int,
        cast: str | None,
    ) -> None:
        self._feeder = feeder
        self._lanes = lanes
        self._columns = columns
        self._padding = padding
        self._batch = batch
        self._cast = cast
        self._lock = threading.Lock()
        self.times = StageTimes()

    def score(self, chunk: Chunk) -> list[ScoredRow]:
        """Return a row for each row of the chunk.

        Raises
        ------
        AscendInferError
            What ends the run: the device, the source, the options; never what is wrong with one row.
        """
        times = StageTimes()
        # Each stage for the whole chunk: a model's run leaves nothing of the other stages' code in the core's caches.
        begun = time.perf_counter_ns()
        fed = [(first, self._feeder.feed(rows)) for first, rows in chunk.batches(self._batch)]
        times.prepare_ns = time.perf_counter_ns() - begun
        made: dict[int, dict[str, Any] | str] = {}
        ran: list[tuple[list[int], InferResult]] = []
        for first, batch in fed:
            made.update((first + place, reason) for place, reason in batch.errors.items())
            for places, feed in batch.groups:
                for part, outcome in self._run(feed, [first + place for place in places], times):
                    if isinstance(outcome, str):
                        made.update((place, outcome) for place in part)
                    else:
                        ran.append((part, outcome))
        begun = time.perf_counter_ns()
        for places, result in ran:
            made.update(zip(places, self._columns.rows(result, len(places)), strict=True))
        times.rank_ns = time.perf_counter_ns() - begun
        with self._lock:
            self.times.add(times)
        return [_scored(row.index, row.id, made[place]) for place, row in enumerate(chunk.rows)]

    def _run(
        self, feed: dict[str, Array], places: list[int], times: StageTimes
    ) -> Iterator[tuple[list[int], InferResult | str]]:
        """Run rows, together or one by one; gives what came of them, or what is wrong with one."""
        try:
            yield places, self._infer(self._padding.fill(feed, len(places)), len(places), times)
        except _OF_THE_ROWS as error:
            if len(places) == 1:
                yield places, str(error)
                return
            # Which one was it? Each by itself; the others are none the worse.
            for row, place in enumerate(places):
                yield from self._run(
                    {name: item[row : row + 1] for name, item in feed.items()}, [place], times
                )

    def _infer(self, feed: Mapping[str, Array], count: int, times: StageTimes) -> InferResult:
        with self._lanes.lane() as lane:
            begun = time.perf_counter_ns()
            result = lane.session.infer(feed, self._columns.asked, cast=self._cast)
            times.infer_ns += time.perf_counter_ns() - begun
            lane.instance = result.timing.instance
        times.queue_ns += lane.waited_ns
        times.runs += 1
        times.rows += count
        times.launched_rows += self._padding.launched(feed)
        return result


def _scored(index: int, name: int | str, made: dict[str, Any] | str) -> ScoredRow:
    if isinstance(made, str):
        return ScoredRow(index, name, {}, " ".join(made.split()))
    return ScoredRow(index, name, made)
