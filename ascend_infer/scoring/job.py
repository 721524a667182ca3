"""A run that is set up: what it reads, what each thread does, how it is laid out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from ascend_infer._version import __version__
from ascend_infer.config.json_form import to_dict
from ascend_infer.cpu_budget import cpu_budget
from ascend_infer.errors import InvalidInputError, InvalidOptionError, ScoringError
from ascend_infer.scoring.arrangement import (
    Arrangement,
    choose_batch,
    choose_workers,
    chunk_rows,
    whole_batches,
)
from ascend_infer.scoring.chunks import Chunks
from ascend_infer.scoring.content import model_content
from ascend_infer.scoring.feeding import Feeder
from ascend_infer.scoring.lanes import Lanes
from ascend_infer.scoring.model import ScoredSession, row_shape
from ascend_infer.scoring.options import ScoreOptions
from ascend_infer.scoring.padding import Padding
from ascend_infer.scoring.progress import open_progress
from ascend_infer.scoring.ranking import OutputColumns
from ascend_infer.scoring.rows import BadItem, Row, ScoredRow
from ascend_infer.scoring.run_files import RunFiles
from ascend_infer.scoring.runner import Runner
from ascend_infer.scoring.sinks.sink import Fit
from ascend_infer.scoring.sources import SourceOptions, open_source
from ascend_infer.scoring.sources.arrow_dataset import ArrowDataset
from ascend_infer.scoring.sources.iterable import PythonIterable
from ascend_infer.scoring.sources.numpy_file import NumpyFile
from ascend_infer.scoring.sources.pictures import Pictures
from ascend_infer.scoring.sources.steady import SteadySource
from ascend_infer.scoring.sources.text_records import CsvFile, JsonLines
from ascend_infer.scoring.summary import SHOWN_ERRORS, DeviceShare, Summary
from ascend_infer.scoring.worker import Work

__all__ = ["Job"]

#: Rows that are written at a time, and lost at most when a process is killed.
_PART_ROWS = 1024
_PART_BYTES = 8 << 20
_WINDOW_BYTES = 16 << 20


class Job:
    """Source, model and options, checked against each other before anything runs.

    Parameters
    ----------
    sessions : sequence of Session
        The same model, on one or several devices.
    source : object
    options : ScoreOptions
    out : str, optional
        The output's path.

    Raises
    ------
    InvalidOptionError, ScoringSourceError, MissingDependencyError
    """

    def __init__(
        self, sessions: Sequence[ScoredSession], source: Any, options: ScoreOptions, out: str | None = None
    ) -> None:
        self.begun = time.perf_counter()
        self.sessions = sessions
        self.options = options
        first = sessions[0]
        _check_alike(sessions)
        self.shape = row_shape(first)
        names = tuple(tensor.name for tensor in first.inputs)
        self.source = open_source(
            source,
            SourceOptions(
                names, options.id_column, options.column, callable(options.preprocess), RunFiles(out)
            ),
        )
        # Before anything is read of it: what the manifest says of it is what was there then, or the run ends.
        self.steady = SteadySource(self.source)
        self.feeder = Feeder(
            first,
            self.source,
            self.shape,
            options.preprocess,
            column=options.column,
            size=options.size,
            max_pixels=options.max_pixels,
        )
        self._refuse_unused()
        if isinstance(self.source, Pictures):
            self.feeder.need_preset(self.source.name)
        self.columns = OutputColumns(
            first,
            self.shape,
            options.outputs,
            ranks=options.top_k,
            softmax=options.softmax,
            labels=options.labels,
            postprocess=options.postprocess,
        )
        if isinstance(self.source, NumpyFile | ArrowDataset) and self.feeder.function is None:
            self._try_first_row()
        self.workers = choose_workers(sessions, options.workers)
        self._stage = {"read": 0.0, "write": 0.0, "assemble": 0.0}
        self._lanes = Lanes(sessions)
        self._work: Work | None = None
        self._ran = 0.0
        self._rows = self._failed = 0
        self._errors: list[tuple[str, str]] = []

    def made_of(self) -> dict[str, Any]:
        """Return what decides the output, in plain values for the manifest."""
        first = self.sessions[0]
        preset = self.feeder.preset
        return {
            "model": {"name": first.name, "version": first.version, "content": model_content(*self.sessions)},
            "config": to_dict(first.config),
            "runtime": self._runtime(),
            "options": self.options.identity(None if preset is None else preset.to_dict()),
            "source": self.source.identity(),
        }

    def _runtime(self) -> dict[str, Any]:
        from PIL import __version__ as pillow

        first = self.sessions[0]
        kept = ("runtime", "providers", "threads", "soc", "shapes")
        return {
            "device": first.device.partition(":")[0],
            **{key: first.details[key] for key in kept if key in first.details},
            "ascend_infer": __version__,
            "numpy": np.__version__,
            "pillow": pillow,
        }

    def arrange(self) -> Arrangement:
        """Choose the batch and the size of parts; may run the model on zeros."""
        batch, why = choose_batch(self.sessions, self.shape, self.options.batch, self.source.total)
        rows = self.options.part_rows or max(1, min(_PART_ROWS, _PART_BYTES // self._row_bytes()))
        return Arrangement(batch, whole_batches(rows, batch), why)

    def run(
        self,
        rows: Iterator[Row],
        done: int,
        layout: Arrangement,
        take: Callable[[list[ScoredRow]], None],
        total: int | None = None,
        fit: Fit | None = None,
    ) -> None:
        """Score rows; hands them over in order, on the caller's thread.

        Parameters
        ----------
        rows : iterator of Row
        done : int
            Rows of an earlier run, for the progress.
        take : callable
        total : int, optional
            How many rows come, where the source does not know.
        fit : callable, optional
            Of the output: finds rows that it has no room for, before they count.

        Raises
        ------
        ScoringError
            More rows failed than ``max_errors``; the source or the output ended the run.
        """
        size = chunk_rows(self.sessions, layout.batch, self.workers, total or self.source.total)
        room = max(1, _WINDOW_BYTES // (size * self._row_bytes()))
        chunks = Chunks(rows, size, self.workers + max(self.workers, min(64, room)))
        padding = Padding(self.sessions[0], layout.batch, self.shape.leading)
        self._work = Work(self.feeder, self._lanes, self.columns, padding, layout.batch, self.options.cast)
        begun = time.perf_counter()
        text = self.source if isinstance(self.source, CsvFile | JsonLines) else None
        try:
            with (
                open_progress(self.options.progress, self.source.total, done) as progress,
                Runner(chunks, self._work.score, self.workers) as results,
            ):
                for scored in results:
                    scored = scored if fit is None else fit(scored)
                    self._count(scored)
                    writing = time.perf_counter()
                    take(scored)
                    self._stage["write"] += time.perf_counter() - writing
                    busy = sum(self._lanes.busy_ns()) / 1e9
                    share = busy / max(1e-9, time.perf_counter() - begun) / len(self._lanes.devices)
                    about = None if text is None else text.expected_rows()
                    progress.advance(len(scored), self._lanes.waiting, share, about)
        finally:
            self._ran = time.perf_counter() - begun
            self._stage["read"] = chunks.read_ns / 1e9

    def _count(self, rows: list[ScoredRow]) -> None:
        self._rows += len(rows)
        for row in rows:
            if row.error:
                self._failed += 1
                if len(self._errors) < SHOWN_ERRORS:
                    self._errors.append((str(row.id), row.error))
        limit = self.options.max_errors
        if limit is not None and self._failed > limit:
            name, reason = self._errors[0]
            raise ScoringError(
                f"{self._failed} rows failed, more than max_errors={limit}; the first of them, {name}: {reason}"
            )

    def assembled_in(self, seconds: float) -> None:
        """Take in how long the output took to be put together."""
        self._stage["assemble"] = seconds

    def summary(
        self,
        output: str,
        layout: Arrangement,
        earlier: int = 0,
        earlier_failed: int = 0,
        errors: Sequence[Sequence[str]] | None = None,
    ) -> Summary:
        """Return the run in numbers; ``errors`` are its first ones with those of earlier runs."""
        first = self.sessions[0]
        ran = max(1e-9, self._ran)
        times = self._work.times if self._work is not None else None
        busy = self._lanes.busy_ns()
        if times is not None:
            for name in ("prepare", "queue", "infer", "rank"):
                self._stage[name] = getattr(times, f"{name}_ns") / 1e9
        launched = times.launched_rows if times else 0
        return Summary(
            output=output,
            rows=earlier + self._rows,
            failed=earlier_failed + self._failed,
            resumed_rows=earlier,
            first_errors=tuple(
                (name, reason) for name, reason in (self._errors if errors is None else errors)
            ),
            seconds=time.perf_counter() - self.begun,
            rows_per_second=self._rows / ran if self._rows else 0.0,
            device_rows_per_second=(
                times.rows / (sum(busy) / 1e9 / len(busy)) if times and sum(busy) else 0.0
            ),
            devices=tuple(
                DeviceShare(device, ns / 1e9, min(1.0, ns / 1e9 / ran), lanes)
                for (device, lanes), ns in zip(self._lanes.devices, busy, strict=True)
            ),
            stage_seconds=dict(self._stage),
            batch=layout.batch,
            batch_reason=layout.why,
            part_rows=layout.part_rows,
            workers=self.workers,
            instances=sum(len(session.instances) for session in self.sessions),
            threads=int(first.details.get("threads", 0)),
            runs=times.runs if times else 0,
            padding_waste=1 - times.rows / launched if times and launched else 0.0,
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        first, cores = self.sessions[0], cpu_budget()
        instances, threads = len(first.instances), int(first.details.get("threads", 1))
        if first.device == "cpu" and self._rows and cores > 1 and (instances < cores or threads > 1):
            yield (
                f"this session has {instances} instances of {threads} threads; on the CPU, an instance of a thread for "
                f"each core is the fastest for many rows: Session(..., instances={cores}, threads=1)"
            )

    def _row_bytes(self) -> int:
        """Return about how much a row of the output takes until it is written."""
        if self.columns.columns is None:
            return 1 << 12
        total = 256
        for column in self.columns.columns:
            open_ended = column.shape is None or -1 in column.shape
            total += (1 << 16) if open_ended else prod(column.shape or ()) * max(1, column.dtype.itemsize)
        return total

    def _refuse_unused(self) -> None:
        """An option that would be ignored is an error."""
        options, source = self.options, self.source
        records = isinstance(source, CsvFile | JsonLines | ArrowDataset | PythonIterable)
        for option, value, used in (
            ("id_column", options.id_column, records and not isinstance(source, PythonIterable)),
            ("column", options.column, records),
            ("size", options.size, self.feeder.preset is not None),
            ("preprocess", options.preprocess, self.feeder.function or not isinstance(source, NumpyFile)),
        ):
            if value is not None and not used:
                raise InvalidOptionError(
                    f"{option}={value!r} has nothing to do with {source.name}; leave it out",
                    option=option,
                    got=value,
                )

        if self.feeder.only_pictures and self.feeder.preset is not None and self._feeds_numbers():
            name, value = (
                ("preprocess", options.preprocess)
                if options.preprocess is not None
                else ("size", options.size)
            )
            raise InvalidOptionError(
                f"{name}={value!r}: a preset prepares pictures, and {source.name} holds numbers; leave it out, "
                "name the pictures' column with column=, or give a function as preprocess=",
                option=name,
                got=value,
            )

    def _feeds_numbers(self) -> bool:
        """Look at the first row where that takes nothing away from the run and tells of the others."""
        source = self.source
        lasting = isinstance(source, PythonIterable) and source.is_sequence
        if not (lasting or isinstance(source, CsvFile | ArrowDataset)):
            return False
        rows = source.rows(0)
        row = next(rows, None)
        rows.close()
        return (
            row is not None and not isinstance(row.item, BadItem) and not self.feeder.holds_picture(row.item)
        )

    def _try_first_row(self) -> None:
        """Refuse now what would be wrong with every row: the data type of a file's columns, an array's shape."""
        rows = self.source.rows(0)
        row = next(rows, None)
        rows.close()
        fed = self.feeder.feed([] if row is None else [row])
        alike = isinstance(self.source, NumpyFile)
        if fed.errors and alike:
            raise InvalidOptionError(f"source {self.source.name}: {fed.errors[0]}", option="source")
        wanted = {tensor.name: tensor.dtype.numpy for tensor in self.sessions[0].inputs}
        for _, feed in fed.groups:
            if alike or any(item.dtype != wanted[name] for name, item in feed.items()):
                try:
                    self.sessions[0].infer(feed, self.columns.names, cast=self.options.cast)
                except InvalidInputError as error:
                    raise InvalidOptionError(
                        f"source {self.source.name}: {error}; cast= (--cast) converts, and so does a function as "
                        "preprocess=",
                        option="source",
                        got=error.got,
                    ) from error


def _check_alike(sessions: Sequence[ScoredSession]) -> None:
    first = sessions[0]
    for other in sessions[1:]:
        for what in ("name", "path", "version", "inputs", "outputs"):
            if getattr(other, what) != getattr(first, what):
                raise InvalidOptionError(
                    f"sessions: {what} is {getattr(first, what)} in one and {getattr(other, what)} in another; several "
                    "sessions are the same model on several devices",
                    option="sessions",
                )
        if other.device.partition(":")[0] != first.device.partition(":")[0]:
            raise InvalidOptionError(
                f"sessions: one is on {first.device}, another on {other.device}; what comes out would depend on which "
                "row came to which",
                option="sessions",
            )
