"""An output on disk: what there is of it, what is still to be scored, and its end."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from heapq import nsmallest
from itertools import chain, islice

from ascend_infer.errors import InvalidOptionError, ResumeError
from ascend_infer.scoring.arrangement import Arrangement, whole_batches
from ascend_infer.scoring.content import model_files
from ascend_infer.scoring.durable import sync_folder, write_durably
from ascend_infer.scoring.job import Job
from ascend_infer.scoring.manifest import Manifest, read_manifest
from ascend_infer.scoring.own_files import TakenPlace
from ascend_infer.scoring.parts import PartRecord, PartStore, output_error, refuse_foreign_parts
from ascend_infer.scoring.row_names import names_sum, whole_sum
from ascend_infer.scoring.rows import Row, ScoredRow
from ascend_infer.scoring.sinks import Sink
from ascend_infer.scoring.summary import SHOWN_ERRORS, Summary

__all__ = ["SavedOutput"]


class SavedOutput:
    """The output of a job, its manifest ``OUT.manifest.json`` and, until it is whole, its parts in ``OUT.parts``.

    At any moment the disk says how far the run is: a part counts once its record is there, the output once the
    manifest says so. Everything is written under another name first.

    Parameters
    ----------
    path : str
    job : Job
    sink : Sink

    Raises
    ------
    InvalidOptionError
        The output cannot be there.
    """

    def __init__(self, path: str, job: Job, sink: Sink) -> None:
        self._path = os.path.abspath(path)
        self._shown = path
        self._job = job
        self._sink = sink
        self._manifest_path = f"{self._path}.manifest.json"
        self._made_of = {**job.made_of(), "form": sink.identity()}
        folder = os.path.dirname(self._path)
        if not os.path.isdir(folder):
            raise InvalidOptionError(
                f"out: {path} is to be in {folder}, which is no folder; make it first", option="out", got=path
            )
        if os.path.lexists(self._path) and os.path.isdir(self._path) != sink.is_folder:
            what = "a folder" if sink.is_folder else "a file"
            raise InvalidOptionError(
                f"out: {path} is there and is not {what}, which this form is", option="out", got=path
            )
        self._taken = TakenPlace(path, sink.is_folder)
        self._taken.refuse("source", job.source.places())
        self._taken.refuse("model", model_files(job.sessions[0]))
        refuse_foreign_parts(path)

    def make(self) -> Summary:
        """Score what is not scored yet and put the output together; blocks.

        Raises
        ------
        ResumeError
            What was begun is of another model, other options or another source.
        ScoringError
            See the kinds of it. What is on the disk is kept.
        """
        with PartStore(f"{self._path}.parts", self._sink, self._goes_on()) as store:
            manifest = self._standing(store)
            if manifest is not None and manifest.state == "complete":
                self._check_names(manifest)
                store.remove()
                counts = manifest.output
                layout = Arrangement(manifest.batch, manifest.part_rows, "of an earlier run")
                errors = counts.get("first_errors", ())
                return self._job.summary(self._shown, layout, counts["rows"], counts["failed"], errors)
            if manifest is None:
                manifest, layout = self._begin(store)
            else:
                layout = Arrangement(manifest.batch, manifest.part_rows, "of the run that was begun")
            earlier = store.records()
            records = list(earlier)
            try:
                self._score(store, records, layout)
            except KeyboardInterrupt as interrupt:
                done = sum(record.rows for record in records)
                total = "" if self._job.source.total is None else f" of {self._job.source.total}"
                interrupt.add_note(
                    f"{done}{total} rows are scored and kept in {self._shown}.parts; {store.goes_on} goes on from there"
                )
                raise
            except InvalidOptionError:
                if self._taken.named:
                    self._take_back(store)
                raise
            self._assemble(store, records, manifest)
            rows, failed = (sum(getattr(item, what) for item in earlier) for what in ("rows", "failed"))
            return self._job.summary(self._shown, layout, rows, failed, _first_errors(records))

    def _standing(self, store: PartStore) -> Manifest | None:
        """Return the manifest of the run to go on with; None to begin afresh."""
        options = self._job.options
        if options.overwrite:
            return self._interrupted_overwrite()
        manifest = read_manifest(self._manifest_path) if options.resume else None
        there = os.path.lexists(self._path)
        if manifest is not None and manifest.state == "complete" and not there:
            return None  # it was taken away
        if manifest is None:
            found = read_manifest(self._manifest_path) if there else None
            if there and (found is None or found.state == "complete"):
                raise InvalidOptionError(
                    f"out: {self._shown} is there already"
                    + (" and no scoring run's" if found is None else "")
                    + "; give another name, or overwrite=True (--overwrite)",
                    option="out",
                    got=self._shown,
                )
            return None
        changes = self._changes(manifest)
        if changes:
            raise self._refused(manifest, [*changes, *self._changed_files(store)])
        if manifest.state == "complete" and not self._sink.is_folder:
            size = os.stat(self._path).st_size
            if size != manifest.output["bytes"]:
                raise self._refused(
                    manifest, [f"the output: was {manifest.output['bytes']} bytes, is {size}"]
                )
        return manifest

    def _interrupted_overwrite(self) -> Manifest | None:
        """Return the manifest of an interrupted run that the same call began, to go on with; None to begin afresh.

        Not where the source does not say whether its rows are the same: they are asked to be scored, not to be passed
        over.
        """
        if not self._job.options.resume or not self._job.source.checked:
            return None
        with suppress(ResumeError):  # it is to be replaced, whatever it is
            manifest = read_manifest(self._manifest_path)
            if manifest is not None and manifest.overwrite and manifest.state == "running":
                return None if self._changes(manifest) else manifest
        return None

    def _goes_on(self) -> str:
        """Say which call goes on with this run where it is interrupted."""
        options = self._job.options
        left_out = [] if options.resume else ["resume=False (--restart)"]
        if options.overwrite and not self._job.source.checked:
            left_out.append("overwrite=True")
        return f"the same call without {' and '.join(left_out)}" if left_out else "the same call"

    def _changes(self, manifest: Manifest) -> list[str]:
        """Say what of a run is different now."""
        options = self._job.options
        changes = manifest.changes(self._made_of)
        for name, asked in (("batch", options.batch), ("part_rows", options.part_rows)):
            kept = getattr(manifest, name)
            if not isinstance(asked, int) or asked == kept:
                continue
            # A part holds whole batches: what was asked for then was rounded up likewise.
            if name == "batch" or whole_batches(asked, manifest.batch) != kept:
                changes.append(f"{name}: was {kept}, is {asked}")
        return changes

    def _check_names(self, manifest: Manifest) -> None:
        """Refuse to take a finished output for that of rows that nothing but their names tells from other ones.

        Raises
        ------
        InvalidOptionError
            They have none.
        ResumeError
            They have others.
        ScoringSourceError
        """
        source, made = self._job.source, manifest.output
        if source.checked:
            return
        if made["rows"] and made["numbered"] == made["rows"]:
            raise InvalidOptionError(
                f"out: {self._shown} is there already, made of {made['rows']} rows without names: whether those of "
                f"{source.name} are the same cannot be told. Give another name, overwrite=True to score them, or rows "
                "as (id, item)",
                option="out",
                got=self._shown,
            )
        rows, count, sums = source.rows(0), 0, []
        while named := list(islice(rows, manifest.part_rows)):
            count += len(named)
            sums.append(names_sum(named))
        if count != made["rows"]:
            raise self._refused(manifest, [f"source: was {made['rows']} rows, is {count}"])
        if count and whole_sum(sums) != made["names_crc32"]:
            raise self._refused(manifest, ["source: its rows have other names"])

    def _refused(self, manifest: Manifest, changes: list[str]) -> ResumeError:
        listed = "\n  ".join(changes)
        how = (
            "overwrite=True (--overwrite) scores it again"
            if manifest.state == "complete"
            else "resume=False (--restart) throws away what was begun"
        )
        return ResumeError(
            f"{self._shown} was {'made' if manifest.state == 'complete' else 'begun'} otherwise, and would mix two "
            f"runs:\n  {listed}\nput it back as it was, give another output, or: {how}",
            path=self._manifest_path,
            changes=changes,
        )

    def _changed_files(self, store: PartStore) -> Iterator[str]:
        """Name some of the source's files that are new, gone or changed."""
        try:
            with open(
                os.path.join(store.folder, "source.list"), encoding="utf-8", errors="surrogateescape"
            ) as file:
                before = dict(line.rstrip("\n").split("\t", 1) for line in file)
        except (OSError, ValueError):
            return
        found: dict[str, list[str]] = {"new": [], "gone": [], "changed": []}
        for line in self._job.source.listing():
            name, about = line.split("\t", 1)
            earlier = before.pop(name, None)
            if earlier != about:
                found["new" if earlier is None else "changed"].append(name)
        found["gone"] = list(before)
        for what, names in found.items():
            if names:
                shown = ", ".join(nsmallest(3, names))
                yield f"source: {len(names)} files are {what}: {shown}{', ...' if len(names) > 3 else ''}"

    def _begin(self, store: PartStore) -> tuple[Manifest, Arrangement]:
        try:
            # Without a manifest, parts are nobody's: in this order nothing is ever taken for another run's.
            if os.path.exists(self._manifest_path):
                os.unlink(self._manifest_path)
                sync_folder(os.path.dirname(self._path))
            store.clear()
            layout = self._job.arrange()
            listed = (f"{line}\n".encode("utf-8", "surrogateescape") for line in self._job.source.listing())
            first = next(listed, None)
            if first is not None:
                write_durably(os.path.join(store.folder, "source.list"), chain([first], listed))
            manifest = Manifest(
                "running", self._made_of, layout.batch, layout.part_rows, self._job.options.overwrite
            )
            manifest.write(self._manifest_path)
        except OSError as error:
            raise output_error(self._manifest_path, 0, error, store.goes_on) from error
        return manifest, layout

    def _score(self, store: PartStore, records: list[PartRecord], layout: Arrangement) -> None:
        rows = self._rest(records, layout)
        done = sum(record.rows for record in records)
        if rows is not None:
            waiting: list[ScoredRow] = []
            steady = self._job.steady

            def take(scored: list[ScoredRow]) -> None:
                waiting.extend(scored)
                while len(waiting) >= layout.part_rows:
                    # A part is of the source that the manifest names, or is not written.
                    steady.check(waiting[-1].index + 1)
                    records.append(store.write(len(records), waiting[: layout.part_rows]))
                    del waiting[: layout.part_rows]

            fit = self._sink.fitting([store.path(number) for number in range(len(records))])
            with closing(rows):
                watched = self._taken.watched(rows, self._job.feeder.files_of)
                self._job.run(watched, done, layout, take, fit=fit)
            # Also where nothing waits: what ended may have been cut short.
            steady.check(sum(record.rows for record in records) + len(waiting))
            if waiting:
                records.append(store.write(len(records), waiting))
        if not records:
            records.append(store.write(0, []))

    def _take_back(self, store: PartStore) -> None:
        """Leave nothing beside a file that is not the run's: with a manifest there, it would be taken for one."""
        with suppress(OSError):
            os.unlink(self._manifest_path)
        store.remove()

    def _rest(self, records: list[PartRecord], layout: Arrangement) -> Generator[Row, None, None] | None:
        """Return the rows that are not scored yet; None where the source was read to its end."""
        source = self._job.source
        done = sum(record.rows for record in records)
        ended = bool(records) and records[-1].rows < layout.part_rows
        if source.checked or not records:
            return None if ended else source.rows(done)
        rows = source.rows(0)
        first = 0
        for record in records:
            named = list(islice(rows, record.rows))
            if len(named) != record.rows or names_sum(named) != record.names_crc32:
                raise self._other_rows(
                    f"rows {first} to {first + record.rows - 1} have other names, or are fewer"
                )
            first += record.rows
        if ended:
            if next(rows, None) is not None:
                raise self._other_rows(f"it ended at row {done} before, and now goes on")
            return None
        return rows

    def _other_rows(self, change: str) -> ResumeError:
        return ResumeError(
            f"source {self._job.source.name}: {change}; resume=False (--restart) throws away what was begun",
            path=self._manifest_path,
            changes=[change],
        )

    def _assemble(self, store: PartStore, records: list[PartRecord], manifest: Manifest) -> None:
        begun = time.perf_counter()
        whole = os.path.join(store.folder, "whole")
        try:
            if os.path.isdir(whole):
                shutil.rmtree(whole)
            self._sink.assemble(list(store.checked(records)), whole)
            output: dict[str, object] = {
                "rows": sum(record.rows for record in records),
                "failed": sum(record.failed for record in records),
                "first_errors": _first_errors(records),
                "names_crc32": whole_sum(record.names_crc32 for record in records),
                "numbered": sum(record.numbered for record in records),
            }
            if not self._sink.is_folder:
                with open(whole, "rb") as file:
                    output["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
                output["bytes"] = os.stat(whole).st_size
            elif os.path.isdir(self._path):
                # Ours: of a run that was killed just here, or asked to be overwritten.
                shutil.rmtree(self._path)
            os.replace(whole, self._path)
            sync_folder(os.path.dirname(self._path))
            manifest.complete(output).write(self._manifest_path)
        except OSError as error:
            raise output_error(self._shown, None, error, store.goes_on) from error
        store.remove()
        self._job.assembled_in(time.perf_counter() - begun)


def _first_errors(records: list[PartRecord]) -> list[Sequence[str]]:
    return [error for record in records for error in record.first_errors][:SHOWN_ERRORS]
