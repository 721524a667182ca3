"""What a form of output is to the rest of scoring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ascend_infer.scoring.rows import ScoredRow

__all__ = ["Fit", "Sink"]

#: Takes rows in order, and gives them back; those that the output has no room for with the reason.
Fit = Callable[[Sequence[ScoredRow]], list[ScoredRow]]


class Sink(Protocol):
    """Writes parts of fixed row ranges, and one output of them.

    Both are functions of the rows alone: the same rows give the same bytes, whenever and wherever they were scored.

    Attributes
    ----------
    suffix : str
        Of part files.
    is_folder : bool
        The output is a folder.
    """

    suffix: str
    is_folder: bool

    def identity(self) -> dict[str, Any]:
        """Return plain values that are equal when the same rows give the same output; for the manifest."""
        ...

    def encode_part(self, rows: Sequence[ScoredRow]) -> bytes:
        """Return the content of a part's file."""
        ...

    def fitting(self, parts: Sequence[str]) -> Fit | None:
        """Return what every row after these parts has to pass; None where all rows will do."""
        ...

    def assemble(self, parts: Sequence[str], target: str) -> None:
        """Write the output from its parts to a path where nothing is, and bring it to the disk."""
        ...
