"""Which gear a request runs in: a pure function of the model's sizes, the request's shapes, rules and costs.

Rows are independent of each other: they are padded freely to the gear that is cheapest, and split above the
largest. Other axes fit exactly, or are padded where the configuration allows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ascend_infer.errors import InvalidInputError
from ascend_infer.gears.choice import GearChoice, GearLaunch
from ascend_infer.gears.cost import Costs
from ascend_infer.gears.crop import AxisCrop
from ascend_infer.gears.no_gear import no_gear_error
from ascend_infer.gears.pad_rules import PadRules
from ascend_infer.gears.shape_limits import choose_within_limits
from ascend_infer.gears.sizes import CompiledSize, Dims, ModelSizes
from ascend_infer.gears.split import split_rows

__all__ = ["choose_gear", "count_rows"]


def choose_gear(sizes: ModelSizes, shapes: Sequence[Dims], *, rules: PadRules, costs: Costs) -> GearChoice:
    """Decide how a request runs.

    Parameters
    ----------
    sizes : ModelSizes
    shapes : sequence of dims
        Of the request's inputs, in the order of ``sizes.inputs``.
    rules : PadRules
        What may be padded besides rows.
    costs : Costs
        Seconds of a launch of each size.

    Returns
    -------
    GearChoice
        With rows: launches that take every row once, in order, at the least total cost; one launch where some
        gear takes all rows. Without: the cheapest gear that fits. At equal cost the smaller gear.

    Raises
    ------
    NoGearError
        When no gear takes the request's shapes.
    InvalidInputError
        When the inputs do not have as many rows as each other, or inputs are missing.
    """
    asked = tuple(tuple(shape) for shape in shapes)
    if len(asked) != len(sizes.inputs):
        raise InvalidInputError(
            f"the model has {len(sizes.inputs)} inputs, the request {len(asked)}",
            expected=f"{len(sizes.inputs)} inputs",
            got=f"{len(asked)} inputs",
        )
    rows = count_rows(sizes, asked)
    if sizes.kind == "shape":
        return choose_within_limits(sizes, asked, rows)
    fitting = [index for index, size in enumerate(sizes.sizes) if _fits(sizes, size, asked, rules)]
    if rows is None or not sizes.rows_are_free:
        exact = [i for i in fitting if rows is None or sizes.rows_of(sizes.sizes[i]) == rows]
        if not exact:
            raise no_gear_error(sizes, asked, rules)
        index = min(exact, key=lambda i: (costs.seconds[i], sizes.sizes[i].elements, i))
        reason = "the cheapest gear that fits" if len(exact) > 1 else "the only size that fits"
        return _choice(sizes, asked, rules, costs, [(index, 0, rows or 0)], reason)
    if not fitting:
        raise no_gear_error(sizes, asked, rules)
    capacities = [sizes.rows_of(sizes.sizes[i]) or 0 for i in fitting]
    whole = [i for i, capacity in zip(fitting, capacities, strict=True) if capacity >= rows]
    if whole:
        index = min(whole, key=lambda i: (costs.seconds[i], sizes.sizes[i].elements, i))
        reason = (
            "the cheapest gear that takes all rows" if len(whole) > 1 else "the only gear that takes all rows"
        )
        return _choice(sizes, asked, rules, costs, [(index, 0, rows)], reason)
    parts = split_rows(rows, capacities, [costs.seconds[i] for i in fitting])
    launches = []
    first = 0
    for part in parts:
        count = min(capacities[part], rows - first)
        launches.append((fitting[part], first, count))
        first += count
    reason = f"{rows} rows are more than the largest gear takes ({max(capacities)})"
    return _choice(sizes, asked, rules, costs, launches, reason)


def count_rows(sizes: ModelSizes, shapes: Sequence[Dims]) -> int | None:
    """Return a request's rows; None for a model without rows.

    Raises
    ------
    InvalidInputError
        When inputs have different numbers of rows, none, or no axis for them.
    """
    found: dict[int, str] = {}
    for number in sorted(sizes.row_inputs):
        shape, name = shapes[number], sizes.inputs[number].name
        if not shape or shape[0] < 1:
            raise InvalidInputError(
                f"input {name!r} has shape {list(shape)}; its first axis counts rows and has at least one",
                input=name,
                expected="at least one row",
                got=str(list(shape)),
            )
        found.setdefault(shape[0], name)
    if len(found) > 1:
        told = ", ".join(f"{name!r} has {rows}" for rows, name in found.items())
        raise InvalidInputError(
            f"the inputs do not have as many rows as each other: {told}",
            expected="as many rows in each input",
            got=told,
        )
    return next(iter(found), None)


def _fits(sizes: ModelSizes, size: CompiledSize, asked: tuple[Dims, ...], rules: PadRules) -> bool:
    """Whether a size takes the request, its rows aside, and the outputs can be cut back."""
    padded = False
    for number, (have, want) in enumerate(zip(asked, size.inputs, strict=True)):
        if len(have) != len(want):
            return False
        for axis, (mine, its) in enumerate(zip(have, want, strict=True)):
            if mine == its or sizes.is_row_axis(number, axis):
                continue
            if mine > its or mine < 1 or number not in rules.fills or sizes.inputs[number].dims[axis] != -1:
                return False
            padded = True
    return not padded or all(
        rules.crops_of(sizes, output, asked, size.inputs) is not None for output in range(len(sizes.outputs))
    )


def _choice(
    sizes: ModelSizes,
    asked: tuple[Dims, ...],
    rules: PadRules,
    costs: Costs,
    parts: Sequence[tuple[int, int, int]],
    reason: str,
) -> GearChoice:
    made: dict[tuple[int, int], GearLaunch] = {}
    launches = []
    for index, first, rows in parts:
        known = made.get((index, rows))
        if known is None:
            known = made[index, rows] = _launch(sizes, asked, rules, costs, index, rows)
        launches.append(known if first == known.first_row else _moved(known, first))
    launched = sum(prod(shape) for launch in launches for shape in launch.input_shapes)
    useful = sum(
        prod(shape) * (1 if number in sizes.row_inputs else len(launches))
        for number, shape in enumerate(asked)
    )
    if len(launches) == 1 and launches[0].is_exact:
        reason = "an exact fit"
    return GearChoice(
        tuple(launches),
        cost=sum(launch.cost for launch in launches),
        waste=1 - useful / launched if launched else 0.0,
        reason=reason,
    )


def _launch(
    sizes: ModelSizes, asked: tuple[Dims, ...], rules: PadRules, costs: Costs, index: int, rows: int
) -> GearLaunch:
    size = sizes.sizes[index]
    mine = tuple((rows, *dims[1:]) if i in sizes.row_inputs else dims for i, dims in enumerate(asked))
    capacity = sizes.rows_of(size) or 0
    crops = []
    for output in range(len(sizes.outputs)):
        cuts = rules.crops_of(sizes, output, asked, size.inputs) or ()
        if output in sizes.row_outputs and rows < capacity:
            cuts = (AxisCrop(0, rows, capacity), *cuts)
        crops.append(cuts)
    return GearLaunch(
        index=index,
        gear=size.gear,
        first_row=0,
        rows=rows,
        input_shapes=size.inputs,
        pads=tuple(
            tuple(its - own for own, its in zip(have, want, strict=True))
            for have, want in zip(mine, size.inputs, strict=True)
        ),
        crops=tuple(crops),
        cost=costs.seconds[index],
        is_measured=costs.measured[index],
    )


def _moved(launch: GearLaunch, first: int) -> GearLaunch:
    return GearLaunch(
        launch.index, launch.gear, first, launch.rows, launch.input_shapes, launch.pads, launch.crops,
        launch.cost, launch.is_measured,
    )  # fmt: skip
