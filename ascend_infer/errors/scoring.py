"""Errors of scoring: the run stops, and what was scored is kept."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.errors.root import AscendInferError

__all__ = ["ResumeError", "ScoringError", "ScoringOutputError", "ScoringSourceError"]


class ScoringError(AscendInferError):
    """A scoring run had to stop; rows that were written are kept, and the same call goes on from there."""


class ScoringSourceError(ScoringError, OSError):
    """The source cannot be read any further.

    Attributes
    ----------
    source : str
        The file, folder or object.
    row : int or None
        The row that was to be read, counted from 0.
    """

    def __init__(self, message: str, *, source: str = "", row: int | None = None) -> None:
        super().__init__(message)
        self.source = source
        self.row = row


class ScoringOutputError(ScoringError, OSError):
    """The output cannot be written.

    Attributes
    ----------
    path : str
        The file that was being written.
    row : int or None
        The first row that is not safely on disk.
    """

    def __init__(self, message: str, *, path: str = "", row: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.row = row


class ResumeError(ScoringError, ValueError):
    """What was begun cannot be gone on with: model, options or source are not what they were.

    Attributes
    ----------
    path : str
        The manifest of the run that was begun.
    changes : tuple of str
        What is different, a sentence each.
    """

    def __init__(self, message: str, *, path: str = "", changes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.changes = tuple(changes)
