"""Checksums of rows' names, by which the rows of an iterable are told from other ones."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

from ascend_infer.scoring.rows import Row, ScoredRow
from ascend_infer.scoring.utf8_text import utf8_id

__all__ = ["names_sum", "numbered_rows", "whole_sum"]


def names_sum(rows: Sequence[Row] | Sequence[ScoredRow]) -> int:
    """Return a checksum of rows' names."""
    found = 0
    for row in rows:
        found = zlib.crc32(f"{utf8_id(row.id)}\n".encode(), found)
    return found


def numbered_rows(rows: Sequence[Row] | Sequence[ScoredRow]) -> int:
    """Return how many rows go by their numbers, which say nothing of what the rows are."""
    return sum(str(row.id) == str(row.index) for row in rows)


def whole_sum(sums: Iterable[int]) -> int:
    """Return the checksum of a run from those of its parts, in order."""
    found = 0
    for part in sums:
        found = zlib.crc32(f"{part}\n".encode(), found)
    return found
