"""Which values of a function of the caller's have a text, and so a place in CSV, JSON Lines and ``.npz``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np

from ascend_infer.scoring.rows import ScoredRow

__all__ = ["TEXTS", "fit_writable"]

#: What is written as Python's ``str`` has it: always the same, and read back without Python.
TEXTS = date | time | timedelta | Decimal | UUID | PurePath
_KEYS = (str, int, float, np.integer, np.floating)


def fit_writable(rows: Sequence[ScoredRow]) -> list[ScoredRow]:
    """Return the rows; those with a value that no text says without values, with the reason."""
    return [_fitted(row) for row in rows]


def _fitted(row: ScoredRow) -> ScoredRow:
    for name, value in row.values.items():
        try:
            wrong = _unwritable(value)
        except RecursionError:
            wrong = "a value that is too deep"
        if wrong:
            why = (
                f"postprocess: column {name!r}: got {wrong}, expected a number, a text, bytes, a date or time, an "
                "array, or lists and mappings of these"
            )
            return ScoredRow(row.index, row.id, {}, why)
    return row


def _unwritable(value: Any) -> str:
    """Return what in a value cannot be written, not by its repr, which has a place in memory in it; "" for nothing."""
    if value is None or isinstance(value, str | bytes | bytearray | int | float | complex | TEXTS):
        return ""
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype == object:
            return _first(np.asarray(value).reshape(-1).tolist())
        return "" if _has_text(value.dtype) else f"an array of {value.dtype}"
    if isinstance(value, list | tuple):
        return _first(value)
    if isinstance(value, dict):
        key = next((key for key in value if not isinstance(key, _KEYS)), None)
        return _first(value.values()) if key is None else f"a mapping by {type(key).__name__}"
    return f"an object of type {type(value).__name__}"


def _first(values: Any) -> str:
    return next(filter(None, map(_unwritable, values)), "")


def _has_text(dtype: np.dtype[Any]) -> bool:
    if dtype.kind != "V":
        return True
    try:
        np.zeros(1, dtype).astype(np.float32)  # bfloat16 and its like are numbers, structures are not
    except (TypeError, ValueError):
        return False
    return dtype.names is None and dtype.type is not np.void
