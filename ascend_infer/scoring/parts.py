"""What is scored so far: part files of fixed row ranges, in a folder beside the output."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import TracebackType

from ascend_infer.errors import InvalidOptionError, ScoringError, ScoringOutputError
from ascend_infer.scoring.durable import sync_folder, write_durably
from ascend_infer.scoring.row_names import names_sum, numbered_rows
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.sinks.sink import Sink
from ascend_infer.scoring.summary import SHOWN_ERRORS

__all__ = ["PartRecord", "PartStore", "output_error", "refuse_foreign_parts"]

#: What a run of any form writes to its folder of parts, and what a network's file system does.
_OWN_NAMES = re.compile(
    r"lock|whole|\..*|(source\.list|part-[0-9]{8}\.(json|csv|jsonl|npz|arrow))(\.tmp)?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What is known of a part that is safely on disk; its being there says that the part is.

    Attributes
    ----------
    rows, failed : int
    bytes, crc32 : int
        Of the part file.
    names_crc32 : int
        Of the rows' names, to tell whether a source gives the same ones again.
    numbered : int
        Rows that go by their numbers.
    first_errors : sequence of (id, reason)
        Of the part's failed rows, for the summary of a run that goes on.
    """

    rows: int
    failed: int
    bytes: int
    crc32: int
    names_crc32: int
    numbered: int
    first_errors: Sequence[Sequence[str]] = ()


class PartStore:
    """The parts of one run; held by one process at a time.

    Parts are written in order, so what is there is the rows from the first one up to some row.

    Parameters
    ----------
    folder : str
    sink : Sink
        Knows how a part file is written.
    goes_on : str
        Which call goes on with what is kept, for errors.

    Raises
    ------
    ScoringOutputError
        The folder cannot be made.
    ScoringError
        Another process writes to it.
    """

    def __init__(self, folder: str, sink: Sink, goes_on: str = "the same call") -> None:
        self.folder = folder
        self.goes_on = goes_on
        self._sink = sink
        self._lock_path = os.path.join(folder, "lock")
        try:
            self._lock = self._locked()
        except BlockingIOError as error:
            raise ScoringError(
                f"{folder}: another process is writing this output; wait for it or end it"
            ) from error
        except OSError as error:
            raise output_error(folder, None, error, goes_on) from error

    def _locked(self) -> int:
        while True:
            os.makedirs(self.folder, exist_ok=True)
            lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever had it may have taken the folder away since it was opened here.
                if os.path.samestat(os.fstat(lock), os.stat(self._lock_path)):
                    return lock
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)

    def __enter__(self) -> PartStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            if os.listdir(self.folder) == ["lock"]:
                self.remove()
        os.close(self._lock)

    def path(self, number: int) -> str:
        """Return where a part lies."""
        return os.path.join(self.folder, f"part-{number:08d}{self._sink.suffix}")

    def _record_path(self, number: int) -> str:
        return os.path.join(self.folder, f"part-{number:08d}.json")

    def records(self) -> list[PartRecord]:
        """Read what is there, from the first part up to the first that is missing."""
        found: list[PartRecord] = []
        while True:
            number = len(found)
            try:
                with open(self._record_path(number), encoding="utf-8") as file:
                    record = PartRecord(**json.load(file))
                size = os.stat(self.path(number)).st_size
            except FileNotFoundError:
                return found
            except (OSError, ValueError, TypeError) as error:
                raise self._damaged(number, str(error)) from error
            if size != record.bytes:
                raise self._damaged(number, f"{size} bytes, expected {record.bytes}")
            found.append(record)

    def write(self, number: int, rows: Sequence[ScoredRow]) -> PartRecord:
        """Bring a part to the disk; blocks until it is there.

        Raises
        ------
        ScoringOutputError
            It is not there; those before it are.
        """
        data = self._sink.encode_part(rows)
        errors = [(str(row.id), row.error) for row in rows if row.error]
        record = PartRecord(
            rows=len(rows),
            failed=len(errors),
            bytes=len(data),
            crc32=zlib.crc32(data),
            names_crc32=names_sum(rows),
            numbered=numbered_rows(rows),
            first_errors=errors[:SHOWN_ERRORS],
        )
        path = self.path(number)
        try:
            write_durably(path, data)
            # Only a part that is on the disk gets its record.
            path = self._record_path(number)
            write_durably(path, json.dumps(asdict(record)).encode())
        except OSError as error:
            raise output_error(path, rows[0].index if rows else 0, error, self.goes_on) from error
        return record

    def checked(self, records: Iterable[PartRecord]) -> Iterator[str]:
        """Give the paths of the parts after a look at each one's bytes.

        Raises
        ------
        ScoringOutputError
            A part is not what was written.
        """
        for number, record in enumerate(records):
            path, found = self.path(number), 0
            try:
                with open(path, "rb") as file:
                    while data := file.read(1 << 20):
                        found = zlib.crc32(data, found)
            except OSError as error:
                raise output_error(path, None, error, self.goes_on) from error
            if found != record.crc32:
                raise self._damaged(number, "its checksum is another one")
            yield path

    def clear(self) -> None:
        """Take everything away but the lock."""
        for name in os.listdir(self.folder):
            if name == "lock":
                continue
            path = os.path.join(self.folder, name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        sync_folder(self.folder)

    def remove(self) -> None:
        """Take the folder away; the lock is held until ``with`` ends."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _damaged(self, number: int, why: str) -> ScoringOutputError:
        path = self.path(number)
        return ScoringOutputError(
            f"{path}: this part is not what was written ({why}); remove {self._record_path(number)} to have it and "
            "those after it scored again",
            path=path,
        )


def refuse_foreign_parts(out: str) -> None:
    """Refuse an output whose folder of parts holds files of somebody else's: it is cleared, whoever reads them.

    Raises
    ------
    InvalidOptionError
    """
    folder = f"{os.path.abspath(out)}.parts"
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    foreign = next((name for name in names if not _OWN_NAMES.fullmatch(name)), None)
    if foreign is not None:
        raise InvalidOptionError(
            f"out: {folder} is cleared by the run, and holds {foreign}, which no run wrote and which would be lost; "
            "give another name",
            option="out",
            got=out,
        )


def output_error(path: str, row: int | None, error: OSError, goes_on: str) -> ScoringOutputError:
    """Return the error for an output that cannot be written."""
    where = "" if row is None else f" (rows from {row} on)"
    return ScoringOutputError(
        f"{path}{where}: {error.strerror or error}; what was written before is kept, and {goes_on} goes on from "
        "there",
        path=path,
        row=row,
    )
