"""Channels in another order: tried out by feeding B so, and by looking at its outputs so."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from ascend_infer.comparison.case import Case, share, steps_of
from ascend_infer.comparison.finding import Finding

__all__ = ["find_swapped_inputs", "find_swapped_outputs"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Axes of at most so many entries are channels (colours, colours and alpha); longer ones are places.
_CHANNELS = 4
#: All orders are tried for at most so many.
_ALL_ORDERS = 3
#: Runs of the model at most.
_MOST_RUNS = 24


def find_swapped_inputs(case: Case) -> Finding | None:
    """Find an input that B takes in another order along an axis; runs B for each guess."""
    runs = 0
    for name, array, axis, order in _guesses(case):
        if runs == _MOST_RUNS:
            return None
        runs += 1
        changed = np.take(array, order, axis)
        if np.array_equal(changed, array):
            continue
        answers = case.run_b({**case.feed, name: np.ascontiguousarray(changed)})
        if not case.explained_by(answers):
            continue
        assert answers is not None
        size = array.shape[axis]
        channels = size <= _CHANNELS
        how = "reversed" if order == tuple(reversed(range(size))) else f"in the order {list(order)}"
        what = f"{size} channels{', RGB for BGR' if size == 3 and how == 'reversed' else ''}"
        looks = "channels swapped" if channels else "a mirrored input"
        return Finding(
            "channels_swapped" if channels else "input_mirrored",
            f"looks like {looks}: B equals A with input {name!r} {how} on axis {axis}"
            f"{f' ({what})' if channels else ''}; B was run so, with {share(case.distance_of(answers))}",
            verified=True,
            tensor=name,
        )
    return None


def find_swapped_outputs(case: Case) -> Finding | None:
    """Find an output whose columns B gives in another order; looks at the answers that are there."""
    for name, a in case.answers_a.items():
        b = case.answers_b[name]
        if a.shape != b.shape or case.tolerance.gap(a, b).within:
            continue
        for axis in steps_of(a, case.batched):
            for order in _orders(a.shape[axis]):
                changed = np.take(b, order, axis)
                if case.tolerance.gap(a, changed).within:
                    how = (
                        "reversed"
                        if order == tuple(reversed(range(len(order))))
                        else f"in the order {list(order)}"
                    )
                    return Finding(
                        "output_swapped",
                        f"looks like a swapped output: B's {name!r} is A's with axis {axis} {how}, in every row of the "
                        "request",
                        tensor=name,
                    )
    return None


def _guesses(case: Case) -> Iterator[tuple[str, Array, int, tuple[int, ...]]]:
    """Yield input, array, axis and order, likely ones first."""
    axes = [
        (name, array, axis)
        for name, array in case.feed.items()
        if array.dtype != object
        for axis in steps_of(array, case.batched)
        if array.shape[axis] > 1
    ]
    for name, array, axis in sorted(axes, key=lambda item: item[1].shape[item[2]] > _CHANNELS):
        for order in _orders(array.shape[axis]):
            yield name, array, axis, order


def _orders(size: int) -> list[tuple[int, ...]]:
    straight = tuple(range(size))
    backwards = straight[::-1]
    if size < 2:
        return []
    others = permutations(straight) if size <= _ALL_ORDERS else ()
    return [backwards, *(order for order in others if order not in (straight, backwards))]
