"""What each thread does with a few rows: prepare, run, rank."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
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


class Work:
    """Everything that a thread needs to turn a chunk into rows of the output.

    Thread safety: ``score`` may be called from any number of threads at once.
    """

    def __init__(
        self, feeder: Feeder, lanes: Lanes, columns: OutputColumns, padding: Padding, cast: str | None
    ) -> None:
        self._feeder = feeder
        self._lanes = lanes
        self._columns = columns
        self._padding = padding
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
        begun = time.perf_counter_ns()
        fed = self._feeder.feed(chunk.rows)
        times.prepare_ns = time.perf_counter_ns() - begun
        made: dict[int, dict[str, Any] | str] = dict(fed.errors)
        for places, feed in fed.groups:
            made.update(zip(places, self._run(feed, len(places), times), strict=True))
        with self._lock:
            for item in fields(times):
                setattr(self.times, item.name, getattr(self.times, item.name) + getattr(times, item.name))
        return [_scored(row.index, row.id, made[place]) for place, row in enumerate(chunk.rows)]

    def _run(self, feed: dict[str, Array], count: int, times: StageTimes) -> list[dict[str, Any] | str]:
        try:
            result = self._infer(self._padding.fill(feed, count), count, times)
        except _OF_THE_ROWS as error:
            if count == 1:
                return [str(error)]
            # Which one was it? Each by itself; the others are none the worse.
            return [
                self._run({name: item[row : row + 1] for name, item in feed.items()}, 1, times)[0]
                for row in range(count)
            ]
        begun = time.perf_counter_ns()
        rows = self._columns.rows(result, count)
        times.rank_ns += time.perf_counter_ns() - begun
        return rows

    def _infer(self, feed: Mapping[str, Array], count: int, times: StageTimes) -> InferResult:
        with self._lanes.lane() as (session, waited):
            begun = time.perf_counter_ns()
            result = session.infer(feed, self._columns.names, cast=self._cast)
            times.infer_ns += time.perf_counter_ns() - begun
        times.queue_ns += waited
        times.runs += 1
        times.rows += count
        times.launched_rows += self._padding.launched(feed)
        return result


def _scored(index: int, name: int | str, made: dict[str, Any] | str) -> ScoredRow:
    if isinstance(made, str):
        return ScoredRow(index, name, {}, " ".join(made.split()))
    return ScoredRow(index, name, made)
