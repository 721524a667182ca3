"""What a source is to the rest of scoring."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from ascend_infer.errors import ScoringSourceError
from ascend_infer.scoring.rows import Row
from ascend_infer.scoring.run_files import RunFiles

__all__ = ["Source", "SourceOptions", "digest_of", "file_identity", "source_error"]


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the caller says about a source.

    Attributes
    ----------
    inputs : tuple of str
        Names of the model's inputs: columns that are wanted, members of an ``.npz``.
    id_column : str or None
        The column that names rows; by default one called ``id``, else rows have their numbers.
    column : str or None
        The column that holds pictures.
    everything : bool
        Columns that are no input are wanted too: the caller's own function takes the records.
    own : RunFiles
        What the run writes, which is not of a folder or a pattern.
    """

    inputs: tuple[str, ...] = ()
    id_column: str | None = None
    column: str | None = None
    everything: bool = False
    own: RunFiles = field(default_factory=RunFiles)


class Source(Protocol):
    """Rows in a fixed order, which can be begun at any of them.

    Attributes
    ----------
    name : str
        For messages.
    total : int or None
        How many rows, where that is known without reading them.
    numbered : bool
        Rows are named by their number.
    checked : bool
        ``identity`` tells by itself whether the rows are those of an earlier run; else the rows' names are compared.
    base : str
        Folder that relative paths in the rows start from; empty for the current one.
    """

    name: str
    total: int | None
    numbered: bool
    checked: bool
    base: str

    def identity(self) -> dict[str, Any]:
        """Return plain values that are equal when the rows are; for the manifest."""
        ...

    def listing(self) -> Iterator[str]:
        """Return the files the source is made of, a line each, so that a change can be told; may be empty."""
        ...

    def places(self) -> Iterator[str]:
        """Return the paths of its files, as far as they are known; an output never replaces one of them."""
        ...

    def rows(self, start: int) -> Generator[Row, None, None]:
        """Give the rows from one on, one thread at a time.

        Raises
        ------
        ScoringSourceError
            The source cannot be read any further.
        """
        ...


def file_identity(path: str, kind: str) -> dict[str, Any]:
    """Return what tells a file from another, or from itself before it was changed: size and time."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise source_error(path, None, error) from error
    return {"kind": kind, "file": path, "bytes": found.st_size, "modified_ns": found.st_mtime_ns}


def source_error(path: str, row: int | None, error: OSError | str) -> ScoringSourceError:
    """Return the error for a source that cannot be read any further."""
    reason = error if isinstance(error, str) else error.strerror or str(error)
    where = "" if row is None else f" at row {row}"
    return ScoringSourceError(f"source {path}{where}: {reason}", source=path, row=row)


def digest_of(lines: Iterator[str]) -> str:
    """Return the SHA-256 of lines of text, which need not be valid Unicode."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return digest.hexdigest()
