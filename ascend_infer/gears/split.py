"""The cheapest launches that take a number of rows."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["split_rows"]

#: Rows that are divided by looking at every way; what is above takes the gear that is cheapest per row.
_EXACT_ROWS = 4096
_EXACT_STEPS = 200_000
#: How finely the dearest gear's cost is divided.
_COST_STEPS = 1 << 40


def split_rows(rows: int, capacities: Sequence[int], costs: Sequence[float]) -> list[int]:
    """Return the gears that take ``rows`` rows at the least total cost, the partly filled one last.

    Parameters
    ----------
    rows : int
        At least 1.
    capacities : sequence of int
        Rows of each gear, each at least 1.
    costs : sequence of float
        Of one launch of each gear; larger ones need not cost more.

    Returns
    -------
    list of int
        Positions in ``capacities``. At equal cost fewer launches, then less padding.

    Notes
    -----
    Dynamic programming over the rows. The work is bounded: of a request above some thousand rows, the bulk
    goes to the gear with the lowest cost per row, as an optimum does too, and the rest is divided exactly.
    """
    gears = _useful(capacities, costs)
    best = min(gears, key=lambda i: (costs[i] / capacities[i], -capacities[i]))
    # In an optimum fewer launches than the best gear has rows are of other gears: others could be exchanged
    # for it. That bounds what has to be divided exactly.
    largest = max(capacities[i] for i in gears)
    exact = min(capacities[best] * largest + largest, _EXACT_ROWS, _EXACT_STEPS // len(gears))
    exact = max(exact, 2 * largest)
    bulk = max(0, -(-(rows - exact) // capacities[best]))
    rest = rows - bulk * capacities[best]
    return [best] * bulk + (_divide(rest, gears, capacities, costs) if rest > 0 else [])


def _useful(capacities: Sequence[int], costs: Sequence[float]) -> list[int]:
    """Leave out gears that take fewer rows and cost more, or no less for the same rows."""
    kept: list[int] = []
    for i in sorted(range(len(capacities)), key=lambda i: (-capacities[i], costs[i], i)):
        if not kept or (costs[i] <= costs[kept[-1]] and capacities[i] < capacities[kept[-1]]):
            kept.append(i)
    return kept


def _divide(rows: int, gears: Sequence[int], capacities: Sequence[int], costs: Sequence[float]) -> list[int]:
    # (cost, launches, capacity) of the best way to take n rows, and the gear it begins with. Costs are whole
    # numbers here: sums of floats would make of equal costs a matter of rounding.
    unit = max(costs[i] for i in gears) / _COST_STEPS
    ways: list[tuple[int, int, int]] = [(0, 0, 0)]
    firsts = [-1]
    options = [(i, capacities[i], max(1, round(costs[i] / unit))) for i in gears]
    for n in range(1, rows + 1):
        found: tuple[int, int, int] | None = None
        first = -1
        for i, capacity, cost in options:
            before = ways[n - capacity] if capacity < n else ways[0]
            way = (before[0] + cost, before[1] + 1, before[2] + capacity)
            if found is None or way < found:
                found, first = way, i
        assert found is not None
        ways.append(found)
        firsts.append(first)
    chosen = []
    left = rows
    while left > 0:
        chosen.append(firsts[left])
        left -= capacities[firsts[left]]
    return chosen
