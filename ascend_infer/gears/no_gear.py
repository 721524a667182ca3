"""The error for a request that no gear takes: what was asked, which sizes are near, what to do."""

from __future__ import annotations

from ascend_infer.errors import NoGearError
from ascend_infer.gears.pad_rules import PadRules
from ascend_infer.gears.sizes import CompiledSize, Dims, ModelSizes

__all__ = ["no_gear_error", "outside_limits_error"]

_SHOWN = 4
_OPTIONS = {"batch": "--dynamic_batch_size", "hw": "--dynamic_image_size", "dims": "--dynamic_dims"}


def no_gear_error(sizes: ModelSizes, asked: tuple[Dims, ...], rules: PadRules) -> NoGearError:
    """Return the error for shapes that none of a model's sizes takes."""
    nearest = sorted(sizes.sizes, key=lambda size: _distance(sizes, size, asked))[:_SHOWN]
    nothing = next((number for number, shape in enumerate(asked) if 0 in shape), None)
    number = _culprit(sizes, nearest[0], asked, rules) if nearest and nothing is None else nothing or 0
    tensor = sizes.inputs[number]
    asked_values = sizes.values(asked)
    values = tuple(size.gear.values if size.gear else sizes.values(size.inputs) for size in nearest)
    got = str(list(asked[number]))
    known = list(dict.fromkeys(str(list(size.inputs[number])) for size in nearest))
    expected = " or ".join(known)
    if len(sizes.sizes) > len(nearest):
        expected += f" or one of {len(sizes.sizes) - len(nearest)} more"
    if nothing is not None:
        return _nothing_error(sizes, number, asked[number], expected)
    gears = ", ".join(str(list(value)) for value in values)
    what = (
        "no gear takes"
        if sizes.kind != "static"
        else "the model is compiled for one size, which is not that of"
    )
    text = f"{what} input {tensor.name!r} of shape {got}: expected {expected}"
    if sizes.kind != "static":
        text += f"; asked for {list(asked_values)}, nearest gears {gears}"
    return NoGearError(
        f"{text}; {_remedy(sizes, nearest, asked, rules, number)}",
        size=asked_values,
        gears=values,
        input=tensor.name,
        expected=expected,
        got=got,
    )


def outside_limits_error(sizes: ModelSizes, number: int, shape: Dims) -> NoGearError:
    """Return the error for a dynamic-shape model's input outside its limits."""
    tensor = sizes.inputs[number]
    limits = tensor.limits or ((0, -1),) * len(tensor.dims)
    shown = [
        str(dim) if dim != -1 else f"{low}..{high if high >= 0 else ''}"
        for dim, (low, high) in zip(tensor.dims, limits, strict=False)
    ]
    expected = f"[{', '.join(shown)}]"
    if 0 in shape:
        return _nothing_error(sizes, number, shape, expected)
    return NoGearError(
        f"input {tensor.name!r} has shape {list(shape)}, outside what the model was compiled for: expected "
        f"{expected}; compile the model with wider ranges in --input_shape, or resize the input",
        size=shape,
        input=tensor.name,
        expected=expected,
        got=str(list(shape)),
    )


def _nothing_error(sizes: ModelSizes, number: int, shape: Dims, expected: str) -> NoGearError:
    name = sizes.inputs[number].name
    what = "rows" if shape[0] == 0 else "elements"
    return NoGearError(
        f"input {name!r} of shape {list(shape)} has no {what}, and a compiled model does not run on none: expected "
        f"{expected}; answer such requests without the model",
        size=shape,
        input=name,
        expected=expected,
        got=str(list(shape)),
    )


def _distance(sizes: ModelSizes, size: CompiledSize, asked: tuple[Dims, ...]) -> tuple[int, int, int]:
    """Order sizes: those of the request's ranks, then those at least as large, then by elements apart."""
    ranks = smaller = apart = 0
    for number, (have, want) in enumerate(zip(asked, size.inputs, strict=True)):
        if len(have) != len(want):
            ranks += 1
            continue
        for axis, (mine, its) in enumerate(zip(have, want, strict=True)):
            if not (sizes.is_row_axis(number, axis) and sizes.rows_are_free):
                smaller += mine > its
                apart += abs(mine - its)
    return ranks, smaller, apart


def _culprit(sizes: ModelSizes, size: CompiledSize, asked: tuple[Dims, ...], rules: PadRules) -> int:
    """Return the first input that the nearest size does not take, one that may not be padded if any."""
    differing = []
    for number, (have, want) in enumerate(zip(asked, size.inputs, strict=True)):
        first = 1 if sizes.rows_are_free and number in sizes.row_inputs else 0
        if len(have) != len(want) or have[first:] != want[first:]:
            differing.append(number)
    return next((i for i in differing if i not in rules.fills), differing[0] if differing else 0)


def _remedy(
    sizes: ModelSizes, nearest: list[CompiledSize], asked: tuple[Dims, ...], rules: PadRules, number: int
) -> str:
    name = sizes.inputs[number].name
    option = _OPTIONS.get(sizes.kind)
    compiled = (
        f"compile the model with this size among its {option}"
        if option
        else "compile the model for this size"
    )
    if sizes.row_inputs and not sizes.rows_are_free and _only_rows_differ(sizes, nearest, asked):
        odd = next(out for i, out in enumerate(sizes.outputs) if i not in sizes.row_outputs)
        return (
            f"rows are not padded here, because output {odd.alias or odd.name!r} does not have them: {compiled}, "
            "or feed exactly one of its sizes"
        )
    if any(_could_pad(sizes, size, asked) for size in nearest) and number not in rules.fills:
        return (
            f"{compiled}, or, if the model bears padding there, allow it: "
            f'parameters {{ key: "gear_pad.{name}" value {{ string_value: "0" }} }}'
        )
    return f"{compiled}, or resize the input"


def _only_rows_differ(sizes: ModelSizes, nearest: list[CompiledSize], asked: tuple[Dims, ...]) -> bool:
    return any(
        all(
            (have[1:] == want[1:]) if i in sizes.row_inputs else have == want
            for i, (have, want) in enumerate(zip(asked, size.inputs, strict=True))
        )
        for size in nearest
    )


def _could_pad(sizes: ModelSizes, size: CompiledSize, asked: tuple[Dims, ...]) -> bool:
    """Whether a size is at least as large wherever it differs, and only in open dimensions."""
    for number, (have, want) in enumerate(zip(asked, size.inputs, strict=True)):
        if len(have) != len(want):
            return False
        for axis, (mine, its) in enumerate(zip(have, want, strict=True)):
            if sizes.is_row_axis(number, axis) and sizes.rows_are_free:
                continue
            if mine > its or (mine != its and sizes.inputs[number].dims[axis] != -1):
                return False
    return True
