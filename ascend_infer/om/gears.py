"""Gears: the sizes a model was compiled for, and the shapes of its inputs and outputs in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ascend_infer.om.aipp import OmAipp
from ascend_infer.om.inout import MAX_DIMS, InOutInfo
from ascend_infer.types import Gear

# Shapes to work out for one model; real ones need some thousands at most.
_MAX_WORK = 1_000_000

__all__ = ["Dims", "GearInput", "OmGear", "fill_gear", "gear_list", "gears_of", "parse_output_shapes"]

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OmGear:
    """One compiled size.

    Attributes
    ----------
    kind : {"batch", "hw", "dims"}
    values : tuple of int
        ``(batch,)``, ``(height, width)``, or what fills the -1 dims in the model's order.
    input_dims : tuple of dims, or None
        What to feed (dims v2) for each input that the caller feeds; None where the file does not add up.
    output_dims : tuple of dims, or None
        None where the file does not say (old files, and image sizes and dims without a table).
    """

    kind: Literal["batch", "hw", "dims"]
    values: Dims
    input_dims: tuple[Dims, ...] | None = None
    output_dims: tuple[Dims, ...] | None = None

    @property
    def gear(self) -> Gear:
        """The gear as the rest of the library knows it."""
        return Gear(self.kind, self.values)


@dataclass(frozen=True, slots=True)
class GearInput:
    """What matters of an input for filling in a gear: its dims with -1 where the gear decides."""

    name: str
    dims: Dims
    aipp: OmAipp | None = None


def gear_list(info: InOutInfo) -> tuple[Literal["batch", "hw", "dims"], tuple[Dims, ...]] | None:
    """Return kind and values of a description's gears; None when it has none."""
    if info.batch_gears:
        return "batch", tuple((batch,) for batch in info.batch_gears)
    if info.hw_gears:
        return "hw", info.hw_gears
    return ("dims", info.dims_gears) if info.dims_gears else None


def fill_gear(
    kind: Literal["batch", "hw", "dims"], values: Dims, inputs: Sequence[GearInput], order: Sequence[str]
) -> tuple[Dims, ...] | None:
    """Return the inputs' dims in a gear; None when the values do not match the open dimensions.

    Parameters
    ----------
    kind, values
        The gear.
    inputs : sequence of GearInput
        In index order, without the runtime's own.
    order : sequence of str
        Input names in the order in which a dims gear fills them; index order where empty.
    """
    if kind == "batch":
        return tuple(tuple(values[0] if d == -1 else d for d in i.dims) for i in inputs)
    if kind == "hw":
        return _fill_sizes(values, inputs)
    return _fill_dims(values, inputs, order)


def _fill_sizes(values: Dims, inputs: Sequence[GearInput]) -> tuple[Dims, ...] | None:
    filled = []
    for tensor in inputs:
        open_axes = [axis for axis, dim in enumerate(tensor.dims) if dim == -1]
        if len(open_axes) not in (0, 2):
            return None
        dims = list(tensor.dims)
        for axis, value in zip(open_axes, values, strict=False):
            dims[axis] = value
        if open_axes and tensor.aipp is not None and open_axes == [1, 2] and len(dims) == 4:
            dims = list(tensor.aipp.feed_dims(dims[0], dims[1], dims[2]) or dims)
        filled.append(tuple(dims))
    return tuple(filled)


def _fill_dims(values: Dims, inputs: Sequence[GearInput], order: Sequence[str]) -> tuple[Dims, ...] | None:
    names = {tensor.name: number for number, tensor in enumerate(inputs)}
    sequence = [names[name] for name in order if name in names]
    ordered = set(sequence)
    sequence += [number for number in range(len(inputs)) if number not in ordered]
    open_count = sum(tensor.dims.count(-1) for tensor in inputs)
    if len(values) == open_count:
        wanted = {-1}
    elif len(values) == sum(len(tensor.dims) for tensor in inputs):
        wanted = None  # every dimension of every input is listed
    else:
        return None
    left = iter(values)
    filled: dict[int, Dims] = {}
    for number in sequence:
        if number not in filled:
            dims = inputs[number].dims
            filled[number] = tuple(next(left) if wanted is None or d in wanted else d for d in dims)
    return tuple(filled[number] for number in range(len(inputs)))


def parse_output_shapes(texts: Sequence[str], gears: int, outputs: int) -> list[tuple[Dims, ...] | None]:
    """Read ``"gear,output,d0,d1,..."`` entries; for each gear the outputs' dims, None where one is missing.

    Gear -1 says that an output has the same dims in all gears.
    """
    found: dict[tuple[int, int], Dims] = {}
    for text in texts:
        pieces = text.split(",", MAX_DIMS + 3)
        try:
            gear, output, *dims = (int(piece) for piece in pieces if piece.strip())
        except ValueError:
            continue
        if len(dims) <= MAX_DIMS and all(abs(dim) < 1 << 63 for dim in dims):
            found[gear, output] = tuple(dims)
    shapes: list[tuple[Dims, ...] | None] = []
    for gear in range(gears):
        known = [found.get((gear, output), found.get((-1, output))) for output in range(outputs)]
        complete = [dims for dims in known if dims is not None]
        shapes.append(tuple(complete) if len(complete) == outputs and outputs else None)
    return shapes


def gears_of(info: InOutInfo, inputs: Sequence[GearInput]) -> tuple[tuple[OmGear, ...], list[str]]:
    """Return a model's gears with the shapes of what the caller feeds and gets, and what does not add up."""
    found = gear_list(info)
    if found is None:
        return (), []
    kind, values = found
    width = sum(len(tensor.dims) + 1 for tensor in inputs) + len(info.outputs)
    if len(values) * width > _MAX_WORK:
        note = (
            f"{len(values):,} gears of {len(inputs):,} inputs are too many: their shapes are not worked out"
        )
        return tuple(OmGear(kind, value) for value in values), [note]
    notes: list[str] = []
    outputs = parse_output_shapes(info.output_shapes, len(values), len(info.outputs))
    gears = []
    for number, value in enumerate(values):
        dims = fill_gear(kind, value, inputs, info.shape_order)
        if dims is None and not notes:
            notes.append(f"gear {list(value)} does not match the open dimensions of the inputs")
        gears.append(OmGear(kind, value, dims, outputs[number]))
    return tuple(gears), notes
