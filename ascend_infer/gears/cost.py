"""What a launch of each size costs, learnt from running it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_infer.gears.sizes import ModelSizes

__all__ = ["CostTable", "Costs", "estimated_costs"]

# Of the newest measurement in the average: follows a change within some ten launches.
_WEIGHT = 0.2
# Decisions see a new figure when it has moved by this share: they stay the same while costs only jitter.
_STEP = 0.05
# Before anything is measured only proportions count; this is a card's order of magnitude.
_SECONDS_PER_ELEMENT = 1e-9
_LEAST = 1e-9
# What a launch costs beside its elements, as a share of the largest size: without it, many small launches
# would look as good as one.
_FIXED_SHARE = 0.125


@dataclass(frozen=True, slots=True)
class Costs:
    """What decisions see: a snapshot.

    Attributes
    ----------
    seconds : tuple of float
        Of one launch of each size.
    measured : tuple of bool
        Whether the size was ever run; else its cost is estimated from the measured ones by element count.
    """

    seconds: tuple[float, ...]
    measured: tuple[bool, ...]


class CostTable:
    """Moving averages of what each size costs.

    Parameters
    ----------
    sizes : ModelSizes

    Notes
    -----
    Not thread-safe: who observes holds a lock. ``costs`` is replaced, never changed, and may be read from any
    thread.
    """

    def __init__(self, sizes: ModelSizes) -> None:
        elements = [max(size.elements, 1) for size in sizes.sizes]
        fixed = _FIXED_SHARE * max(elements, default=0)
        self._weights = [count + fixed for count in elements]
        self._averages: list[float | None] = [None] * len(elements)
        self.costs = self._snapshot()

    def observe(self, index: int, seconds: float) -> None:
        """Take in how long a launch of a size took; zero, negative and not finite times are ignored."""
        if not (math.isfinite(seconds) and seconds > 0):
            return
        before = self._averages[index]
        after = seconds if before is None else before + _WEIGHT * (seconds - before)
        self._averages[index] = after
        seen = self.costs.seconds[index]
        if before is None or abs(after - seen) > _STEP * seen:
            self.costs = self._snapshot()

    def _snapshot(self) -> Costs:
        known = [
            (weight, cost)
            for weight, cost in zip(self._weights, self._averages, strict=True)
            if cost is not None
        ]
        rate = sum(cost for _, cost in known) / sum(weight for weight, _ in known) if known else 0.0
        return Costs(
            tuple(
                max(_LEAST, (rate or _SECONDS_PER_ELEMENT) * weight if cost is None else cost)
                for weight, cost in zip(self._weights, self._averages, strict=True)
            ),
            tuple(cost is not None for cost in self._averages),
        )


def estimated_costs(sizes: ModelSizes, seconds: Sequence[float] | None = None) -> Costs:
    """Return costs without a table: estimates by element count, or the given seconds as measured."""
    if seconds is not None:
        return Costs(tuple(max(_LEAST, float(cost)) for cost in seconds), (True,) * len(seconds))
    return CostTable(sizes).costs
