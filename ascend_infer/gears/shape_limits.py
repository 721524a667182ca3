"""Models of true dynamic shape: any size within limits, nothing to pad but too few rows."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from ascend_infer.gears.choice import GearChoice, GearLaunch
from ascend_infer.gears.crop import AxisCrop
from ascend_infer.gears.no_gear import outside_limits_error
from ascend_infer.gears.sizes import Dims, ModelSizes

__all__ = ["choose_within_limits"]


def choose_within_limits(sizes: ModelSizes, asked: tuple[Dims, ...], rows: int | None) -> GearChoice:
    """Decide how a request runs on a dynamic-shape model.

    Raises
    ------
    NoGearError
        When a dimension is outside its limits; rows above theirs are split, below are padded.
    """
    for number, shape in enumerate(asked):
        tensor = sizes.inputs[number]
        if tensor.dims == (-2,):  # not even the rank is known: the runtime decides
            continue
        if len(shape) != len(tensor.dims):
            raise outside_limits_error(sizes, number, shape)
        for axis, size in enumerate(shape):
            if sizes.is_row_axis(number, axis) and sizes.rows_are_free:
                continue
            low, high = limits_of(sizes, number, axis)
            if size < low or (high >= 0 and size > high):
                raise outside_limits_error(sizes, number, shape)
    if rows is None or not sizes.rows_are_free:
        launches = [_launch(sizes, asked, 0, 0, None)]
        reason = "the model takes any shape within its limits"
    else:
        most = sizes.most_rows or rows
        least = max((limits_of(sizes, i, 0)[0] for i in sizes.row_inputs), default=1)
        count = -(-rows // most)
        # As even as can be: the last one is not a straggler.
        starts = [rows * i // count for i in range(count + 1)]
        launches = [
            _launch(sizes, asked, start, end - start, max(end - start, least))
            for start, end in pairwise(starts)
        ]
        reason = (
            f"{rows} rows are more than the model takes at once ({most})"
            if count > 1
            else "the model takes any shape within its limits"
        )
    launched = sum(prod(shape) for launch in launches for shape in launch.input_shapes)
    padding = sum(
        prod(shape) - prod(d - pad for d, pad in zip(shape, pads, strict=True))
        for launch in launches
        for shape, pads in zip(launch.input_shapes, launch.pads, strict=True)
    )
    return GearChoice(tuple(launches), 0.0, padding / launched if launched else 0.0, reason)


def limits_of(sizes: ModelSizes, number: int, axis: int) -> tuple[int, int]:
    """Return the least and largest size of an axis, largest -1 for none."""
    tensor = sizes.inputs[number]
    if tensor.dims[axis] != -1:
        return tensor.dims[axis], tensor.dims[axis]
    return tensor.limits[axis] if axis < len(tensor.limits) else (0, -1)


def _launch(
    sizes: ModelSizes, asked: tuple[Dims, ...], first: int, rows: int, padded: int | None
) -> GearLaunch:
    def shaped(number: int, dims: Dims) -> Dims:
        return (padded, *dims[1:]) if padded is not None and number in sizes.row_inputs else dims

    shapes = tuple(shaped(number, dims) for number, dims in enumerate(asked))
    extra = padded - rows if padded is not None else 0
    pads = tuple(
        (extra, *(0,) * (len(dims) - 1)) if extra and i in sizes.row_inputs else (0,) * len(dims)
        for i, dims in enumerate(shapes)
    )
    crop = (AxisCrop(0, rows, padded),) if padded is not None and extra else ()
    crops = tuple(crop if i in sizes.row_outputs else () for i in range(len(sizes.outputs)))
    return GearLaunch(None, None, first, rows, shapes, pads, crops)
