"""Columns that a function of the caller's makes: which values one Arrow type takes, told row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ascend_infer.scoring.arrow import pa
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.sinks.numbers import plain_values
from ascend_infer.shortened import shortened_repr

__all__ = ["RowTypes", "column_of"]

#: Beyond it float64 does not hold every whole number, so such a column keeps its type.
_EXACT = 2**53
#: Python's and pyarrow's errors for a value that has no type, or not this one.
_MISFITS = (ValueError, TypeError, OverflowError, NotImplementedError)


class RowTypes:
    """Finds the rows whose values do not go into the columns of those before them.

    A column's type widens as Arrow's schemas do: whole numbers to fractions, missing values to anything. Which rows
    fit follows from the rows alone, not from how they come in pieces, so that a run that goes on decides as before.
    """

    def __init__(self) -> None:
        self._types: dict[str, Any] = {}
        self._large: set[str] = set()

    def go_on(self, table: Any) -> None:
        """Take in rows that were written before: an Arrow table without ``id`` and ``error``."""
        for name in table.column_names:
            column = table.column(name)
            self._types[name] = _widened(self._types.get(name), column.type)
            if _has_integers(column.type) and any(map(_is_large, column.to_pylist())):
                self._large.add(name)

    def fit(self, rows: Sequence[ScoredRow]) -> list[ScoredRow]:
        """Return the rows; those that do not fit without values, with the reason."""
        names = dict.fromkeys(name for row in rows for name in row.values)
        if (
            self._take({name: [row.values.get(name) for row in rows] for name in names}, together=True)
            is None
        ):
            return list(rows)
        return [self._fitted(row) for row in rows]

    def _fitted(self, row: ScoredRow) -> ScoredRow:
        misfit = self._take({name: [value] for name, value in row.values.items()}, together=False)
        return row if misfit is None else ScoredRow(row.index, row.id, {}, " ".join(misfit.split()))

    def _take(self, columns: dict[str, list[Any]], *, together: bool) -> str | None:
        """Widen the types by these values, or by none of them; returns what was in the way."""
        types: dict[str, Any] = {}
        large: set[str] = set()
        for name, values in columns.items():
            known = self._types.get(name)
            try:
                kind = column_of(values).type
                wide = _widened(known, kind)
            except _MISFITS as error:
                return _misfit(name, values[0], known, str(error))
            if _has_integers(kind) and any(map(_is_large, values)):
                large.add(name)
            if name in large | self._large:
                if together:
                    return "the order of the rows matters"
                if known is not None and known != wide and not _is_empty(known):
                    return _misfit(name, values[0], known, f"{wide} does not hold its largest whole numbers")
                if kind != wide:
                    return _misfit(name, values[0], known, f"{wide} does not hold such a whole number")
            types[name] = wide
        self._types.update(types)
        self._large |= large
        return None


def column_of(values: Sequence[Any]) -> Any:
    """Return values as an Arrow array of the type that follows from them.

    Raises
    ------
    ValueError, TypeError, OverflowError, NotImplementedError
        No type takes them all; of pyarrow's own kinds too.
    """
    plain = [
        value.tolist() if isinstance(value, np.ndarray) and value.ndim != 1 else value for value in values
    ]
    try:
        try:
            return pa().array(plain)
        except UnicodeEncodeError:
            return pa().array(plain_values(plain))
    except _MISFITS:
        if len(values) < 2:
            raise
    # numpy's arrays of several types, which pyarrow does not take together.
    single = [column_of([value]) for value in values]
    kind = None
    for item in single:
        kind = _widened(kind, item.type)
    return pa().concat_arrays([item.cast(kind) for item in single])


def _widened(known: Any, kind: Any) -> Any:
    if known is None or known == kind:
        return kind
    arrow = pa()
    schemas = [arrow.schema([("x", item)]) for item in (known, kind)]
    found = arrow.unify_schemas(schemas, promote_options="permissive").field("x").type
    for item in (known, kind):
        arrow.nulls(0, item).cast(found)  # raises where the parts could not be put together
    return found


def _misfit(name: str, value: Any, known: Any, why: str) -> str:
    expected = "a value that Arrow has a type for" if known is None else f"{known} as in the rows before"
    return f"postprocess: column {name!r}: got {shortened_repr(value)}, expected {expected} ({why})"


def _is_empty(kind: Any) -> bool:
    return bool(pa().types.is_null(kind))


def _has_integers(kind: Any) -> bool:
    return "int" in str(kind)


def _is_large(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) > _EXACT
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return any(map(_is_large, value.reshape(-1).tolist()))
        return bool(value.dtype.kind in "iu" and value.size) and any(
            map(_is_large, (value.max(), value.min()))
        )
    if isinstance(value, np.integer):
        return abs(int(value)) > _EXACT
    if isinstance(value, dict):
        return any(map(_is_large, value.values()))
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and any(map(_is_large, value))
