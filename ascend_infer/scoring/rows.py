"""A row of the source, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["BadItem", "Row", "ScoredRow"]


class Row(NamedTuple):
    """One row as a source gives it.

    Attributes
    ----------
    index : int
        Its place in the source, from 0.
    id : int or str
        What the output names it by.
    item : object
        A path, an array, a record: whatever the source holds.
    """

    index: int  # type: ignore[assignment]  # tuple's method of that name is of no use here
    id: int | str
    item: Any


@dataclass(frozen=True, slots=True)
class BadItem:
    """What stands in a row's place when the source could not make one of it."""

    reason: str


class ScoredRow(NamedTuple):
    """One row of the output.

    Attributes
    ----------
    index : int
    id : int or str
    values : mapping of str to object
        By column, in order; empty when the row failed. Texts, numbers, arrays; arrays may be views of a batch's.
    error : str
        Why there are no values; empty when all is well.
    """

    index: int  # type: ignore[assignment]
    id: int | str
    values: Mapping[str, Any]
    error: str = ""
