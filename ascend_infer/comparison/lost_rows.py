"""Rows of a batch that are lost, repeated or in another order: found by content, tried by other runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ascend_infer.comparison.case import Case
from ascend_infer.comparison.finding import Finding, FindingKind
from ascend_infer.comparison.tolerance import numbers

__all__ = ["find_lost_rows"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Rows that are compared with each other at most.
_MOST_ROWS = 256
#: A row that is no row exactly is the nearest one where the next is this many times as far.
_FAR = 20
#: A row alone is at least so many times nearer where the batch is what damages it: less may be a matter of rounding.
_NEARER = 2


def find_lost_rows(case: Case) -> Finding | None:
    """Find rows that B loses, repeats, reorders or damages; None where that is not what differs."""
    rows = case.rows
    if rows < 2 or rows > _MOST_ROWS:
        return None
    for name, a in case.answers_a.items():
        b = case.answers_b[name]
        if a.ndim == 0 or b.ndim == 0 or len(a) != rows or a.shape[1:] != b.shape[1:] or a.dtype == object:
            continue
        if a.shape == b.shape and case.tolerance.gap(a, b).within:
            continue
        found = _in_output(case, name, a, b)
        if found is not None:
            return found
    return None


def _in_output(case: Case, name: str, a: Array, b: Array) -> Finding | None:
    origin = _origins(case, a, b)
    if origin is None or not any(index is not None for index in origin):
        return None
    missing = [index for index in range(len(a)) if index not in origin]
    strangers = [index for index, source in enumerate(origin) if source is None]
    repeated = sorted({index for index in origin if index is not None and origin.count(index) > 1})
    if origin == list(range(len(a))):
        return None
    kind: FindingKind
    wrong = missing or strangers or [index for index, source in enumerate(origin) if source != index]
    if len(a) == len(b) and strangers and all(i == s for i, s in enumerate(origin) if s is not None):
        # The others are where they belong: these rows are bad, whatever they are now.
        zero = [index for index in strangers if np.any(a[index]) and not np.any(b[index])]
        others = [index for index in strangers if index not in zero]
        wrong = zero or others
        kind = "rows_dropped" if zero else "rows_damaged"
        what = (
            f"a dropped row: {_rows(zero)} of B's {name!r} {_are(zero)} zero, "
            + (f"{_rows(others)} not A's, " if others else "")
            + "the others equal A's"
            if zero
            else f"a damaged row: {_rows(others)} of B's {name!r} differ{'s' if len(others) == 1 else ''} from "
            "A's, the others are equal"
        )
    elif missing:
        kind = "rows_dropped"
        what = f"a dropped row: {_rows(missing)} of A's {name!r} {_are(missing)} nowhere in B's"
        if repeated:
            what += f", and {_rows(repeated)} {_are(repeated)} there more than once"
        if len(a) != len(b):
            what += f"; B gives {len(b)} rows for {len(a)}"
    elif repeated or len(b) > len(a):
        kind = "rows_duplicated"
        what = f"a duplicated row: B gives {len(b)} rows of {name!r} for {len(a)}, {_rows(repeated)} more than once"
    else:
        kind = "rows_reordered"
        what = f"rows in another order: B's {name!r} has A's rows {origin}"
    tried, verified = _tried(case, name, kind, next((index for index in wrong if index < len(a)), None))
    return None if verified is None else Finding(kind, f"looks like {what}; {tried}", verified, name)


def _origins(case: Case, a: Array, b: Array) -> list[int | None] | None:
    """Return for each row of B which row of A it is; None where that cannot be told."""
    left = numbers(a).reshape(len(a), -1)
    right = numbers(b).reshape(len(b), -1)
    if any(
        case.tolerance.gap(left[i], left[k]).within for i in range(len(left)) for k in range(i + 1, len(left))
    ):
        # A's own rows cannot be told apart: only a row in its own place can be known.
        same = [case.tolerance.gap(one, other).within for one, other in zip(left, right, strict=False)]
        return [index if own else None for index, own in enumerate(same)] if len(a) == len(b) else None
    found: list[int | None] = []
    for row in right:
        exact = [index for index, other in enumerate(left) if case.tolerance.gap(other, row).within]
        if len(exact) == 1:
            found.append(exact[0])
            continue
        distances = [float(np.abs(other - row).max(initial=0)) for other in left]
        order = np.argsort(distances)
        clear = distances[order[0]] * _FAR < distances[order[1]]
        found.append(int(order[0]) if clear else None)
    return found


def _tried(case: Case, name: str, kind: FindingKind, row: int | None) -> tuple[str, bool | None]:
    """Run B on a wrong row by itself, then in another place; None says that it is no better."""
    if row is None:
        return "not tried on a single row", False
    right = case.answers_a[name][row : row + 1]
    before = _apart(case, right, case.answers_b[name][row : row + 1])
    answers = case.run_b(_each(case, lambda array: array[row : row + 1]))
    if answers is None:
        return f"B does not run on row {row} alone", False
    alone = answers[name]
    if alone.shape == right.shape:
        if agrees := _agrees(case, right, alone, before):
            return f"B was run on row {row} alone and {agrees} there, so the batch is what loses it", True
    elif alone.shape[1:] == right.shape[1:] and (
        (kind == "rows_duplicated" and all(case.tolerance.gap(right[0], one).within for one in alone))
        or (kind == "rows_dropped" and not len(alone))
    ):
        return f"B was run on row {row} alone and gives {len(alone)} rows for it", True
    # A place in the batch that is always lost is lost by a row alone as well.
    answers = case.run_b(_each(case, lambda array: np.roll(array, 1, axis=0)))
    place = (row + 1) % case.rows
    moved = None if answers is None else answers[name][place : place + 1]
    if moved is not None and (agrees := _agrees(case, right, moved, before)):
        said = f"B was run with the rows moved on by one and {agrees} for row {row}, so its place is what loses it"
        return said, True
    return "", None


def _each(case: Case, change: Callable[[Array], Array]) -> Mapping[str, Array]:
    return {key: change(array) for key, array in case.feed.items()}


def _apart(case: Case, right: Array, row: Array) -> float:
    return case.tolerance.gap(right, row).worst if row.shape == right.shape else float("inf")


def _agrees(case: Case, right: Array, row: Array, before: float) -> str:
    """Say how a row agrees with A's now that it did not before; "" where it is no nearer than rounding may bring it."""
    if row.shape != right.shape:
        return ""
    gap = case.tolerance.gap(right, row)
    if gap.within and gap.worst * _NEARER <= before:
        return "equals A"
    return "comes near A" if gap.worst * _FAR <= before < float("inf") else ""


def _rows(indices: Sequence[int]) -> str:
    listed = ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")
    return f"row {listed}" if len(indices) == 1 else f"rows {listed}"


def _are(indices: Sequence[int]) -> str:
    return "is" if len(indices) == 1 else "are"
