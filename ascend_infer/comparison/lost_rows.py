"""Rows of a batch that are lost, repeated or in another order: found by content, tried out by running them alone."""

from __future__ import annotations

from collections.abc import Sequence
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
    if len(a) == len(b) and strangers and all(i == s for i, s in enumerate(origin) if s is not None):
        # The others are where they belong: these rows are bad, whatever they are now.
        zero = all(not np.any(b[index]) for index in strangers)
        kind = "rows_dropped" if zero else "rows_damaged"
        what = (
            f"a dropped row: {_rows(strangers)} of B's {name!r} {_are(strangers)} zero, the others equal A's"
            if zero
            else f"a damaged row: {_rows(strangers)} of B's {name!r} differ{'s' if len(strangers) == 1 else ''} from "
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
    wrong = missing or strangers or [i for i, source in enumerate(origin) if source != i]
    tried, verified = _alone(case, name, a, [index for index in wrong if index < len(a)][0:1])
    return Finding(kind, f"looks like {what}; {tried}", verified, name)


def _origins(case: Case, a: Array, b: Array) -> list[int | None] | None:
    """Return for each row of B which row of A it is; None where A's own rows cannot be told apart."""
    left = numbers(a).reshape(len(a), -1)
    right = numbers(b).reshape(len(b), -1)
    if any(
        case.tolerance.gap(left[i], left[k]).within for i in range(len(left)) for k in range(i + 1, len(left))
    ):
        return None
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


def _alone(case: Case, name: str, a: Array, rows: Sequence[int]) -> tuple[str, bool]:
    """Run B on one of the rows by itself."""
    if not rows:
        return "not tried on a single row", False
    index = rows[0]
    answers = case.run_b({key: array[index : index + 1] for key, array in case.feed.items()})
    if answers is None:
        return f"B does not run on row {index} alone", False
    alone = answers[name]
    if alone.shape == a[index : index + 1].shape and case.tolerance.gap(a[index : index + 1], alone).within:
        return f"B was run on row {index} alone and equals A there, so the batch is what loses it", True
    return f"B was run on row {index} alone and differs from A there too", True


def _rows(indices: Sequence[int]) -> str:
    listed = ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")
    return f"row {listed}" if len(indices) == 1 else f"rows {listed}"


def _are(indices: Sequence[int]) -> str:
    return "is" if len(indices) == 1 else "are"
