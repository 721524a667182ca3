"""Carrying a choice out on arrays: rows cut out, padded into buffers, outputs cut back and joined.

Nothing is copied that fits as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ascend_infer.gears.choice import GearChoice, GearLaunch
from ascend_infer.gears.crop import AxisCrop
from ascend_infer.gears.pad_rules import PadRules
from ascend_infer.gears.sizes import Dims, ModelSizes

__all__ = ["crop_outputs", "join_outputs", "pad_inputs", "run_choice"]

Array = np.ndarray[Any, Any]


def pad_inputs(
    sizes: ModelSizes,
    launch: GearLaunch,
    inputs: Sequence[Array],
    *,
    rules: PadRules,
    buffers: Mapping[int, Array] | None = None,
) -> list[Array]:
    """Return what a launch gets of each input.

    Parameters
    ----------
    sizes : ModelSizes
    launch : GearLaunch
    inputs : sequence of ndarray
        The whole request, in the model's order.
    rules : PadRules
        Added rows hold zeros, other added elements the rule's fill.
    buffers : mapping of int to ndarray, optional
        By position of the input: C-contiguous memory of at least the launch's bytes, of any shape and type, that
        the input is written to from its beginning. Where one is missing, new memory is taken when needed.

    Returns
    -------
    list of ndarray
        C-contiguous. Without a buffer a view of the request where nothing is padded and its memory is
        contiguous; in a buffer a view of the buffer.
    """
    made = []
    for number, array in enumerate(inputs):
        part = (
            array[launch.first_row : launch.first_row + launch.rows]
            if _has_rows(sizes, launch, number)
            else array
        )
        shape = launch.input_shapes[number]
        buffer = None if buffers is None else buffers.get(number)
        if buffer is None and part.shape == shape and part.flags.c_contiguous:
            made.append(part)
            continue
        target = np.empty(shape, array.dtype) if buffer is None else _shaped(buffer, shape, array.dtype)
        _fill(target, part, rules.fills.get(number, 0), first_axis_is_rows=number in sizes.row_inputs)
        made.append(target)
    return made


def crop_outputs(launch: GearLaunch, outputs: Sequence[Array]) -> list[Array]:
    """Return views of what belongs to the request; the same arrays where nothing has to go."""
    return [_cropped(array, cuts) for array, cuts in zip(outputs, launch.crops, strict=True)]


def join_outputs(
    choice: GearChoice, parts: Sequence[Sequence[Array]], out: Mapping[int, Array] | None = None
) -> list[Array]:
    """Return the request's outputs from those of its launches, already cropped.

    Parameters
    ----------
    choice : GearChoice
    parts : sequence over launches, of sequences over outputs
    out : mapping of int to ndarray, optional
        By position of the output: an array of the right shape and type to write to.

    Returns
    -------
    list of ndarray
        Of one launch its own arrays, uncopied unless ``out`` asks for it.
    """
    joined = []
    for number in range(len(parts[0])):
        pieces = [part[number] for part in parts]
        target = None if out is None else out.get(number)
        if target is not None:
            start = 0
            for piece in pieces:
                if len(pieces) == 1:
                    target[...] = piece
                else:
                    target[start : start + len(piece)] = piece
                    start += len(piece)
            joined.append(target)
        else:
            joined.append(pieces[0] if not choice.is_split else np.concatenate(pieces))
    return joined


def run_choice(
    sizes: ModelSizes,
    choice: GearChoice,
    inputs: Sequence[Array],
    launch: Callable[[GearLaunch, list[Array]], Sequence[Array]],
    *,
    rules: PadRules,
) -> list[Array]:
    """Run a request, launch after launch, with a function that runs one.

    Its outputs may be overwritten by the next launch only if the function copies them.
    """
    parts = [
        crop_outputs(each, launch(each, pad_inputs(sizes, each, inputs, rules=rules)))
        for each in choice.launches
    ]
    return join_outputs(choice, parts)


def _has_rows(sizes: ModelSizes, launch: GearLaunch, number: int) -> bool:
    return number in sizes.row_inputs and launch.rows > 0


def _shaped(buffer: Array, shape: Dims, dtype: np.dtype[Any]) -> Array:
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if not buffer.flags.c_contiguous or buffer.nbytes < size:
        raise ValueError(
            f"a buffer of {buffer.nbytes} bytes{'' if buffer.flags.c_contiguous else ' that is not contiguous'} "
            f"does not hold {size} bytes of shape {list(shape)}"
        )
    return buffer.reshape(-1).view(np.uint8)[:size].view(dtype).reshape(shape)


def _fill(target: Array, part: Array, fill: float, *, first_axis_is_rows: bool) -> None:
    """Copy a part into the near corner and set every other element exactly once."""
    target[tuple(slice(size) for size in part.shape)] = part
    for axis in range(target.ndim):
        if part.shape[axis] < target.shape[axis]:
            outside = (*(slice(size) for size in part.shape[:axis]), slice(part.shape[axis], None))
            target[outside] = 0 if axis == 0 and first_axis_is_rows else fill


def _cropped(array: Array, cuts: Sequence[AxisCrop]) -> Array:
    if not cuts:
        return array
    slices = [slice(None)] * array.ndim
    for cut in cuts:
        if cut.axis >= array.ndim:
            raise ValueError(
                f"an output of shape {list(array.shape)} has no axis {cut.axis}, which gear_crop names"
            )
        slices[cut.axis] = slice(cut.keep(array.shape[cut.axis]))
    return array[tuple(slices)]
