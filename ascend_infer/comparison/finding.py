"""What a difference looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "FindingKind"]

FindingKind = Literal[
    "missing_output",
    "other_shape",
    "other_type",
    "not_finite",
    "channels_swapped",
    "input_mirrored",
    "output_swapped",
    "rows_dropped",
    "rows_duplicated",
    "rows_reordered",
    "rows_damaged",
    "half_precision",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One explanation of a difference.

    Attributes
    ----------
    kind : str
    sentence : str
        What it looks like and how that was tried.
    verified : bool
        The model was run to try it, and what came out was as foretold.
    tensor : str or None
        The input or output that it is about, by A's name.
    """

    kind: FindingKind
    sentence: str
    verified: bool = False
    tensor: str | None = None
