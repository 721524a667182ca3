"""What comes out of a model in each gear: found by running it once in each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_infer.errors import InvalidOptionError, MissingDependencyError, ModelFileError
from ascend_infer.simulator.quiet_import import import_onnxruntime
from ascend_infer.types import Gear, TensorSpec

__all__ = ["fill_gear", "gear_outputs"]

Shape = tuple[int, ...]


def fill_gear(inputs: Sequence[TensorSpec], gear: Gear | None) -> list[Shape]:
    """Return the inputs' shapes in a gear; without one, their own.

    A batch fills every -1, the two values of an image size the two -1 of each input, the values of dims gears the -1
    of all inputs in order.

    Raises
    ------
    InvalidOptionError
        The gear has another number of values than there are open dimensions.
    """
    shapes: list[Shape] = []
    used = 0
    for tensor in inputs:
        shape = list(tensor.shape)
        opened = [i for i, dim in enumerate(shape) if dim == -1]
        values: Sequence[int] = ()
        if gear is not None and gear.kind == "batch":
            values = gear.values * len(opened)
        elif gear is not None and gear.kind == "hw":
            values = gear.values if opened else ()
        elif gear is not None:
            values = gear.values[used : used + len(opened)]
            used += len(opened)
        if len(values) != len(opened):
            given = list(gear.values) if gear else []
            raise InvalidOptionError(
                f"gear {given} does not fill the {len(opened)} open dimensions of {tensor}", option="gears"
            )
        for index, value in zip(opened, values, strict=True):
            shape[index] = value
        shapes.append(tuple(shape))
    if gear is not None and gear.kind == "dims" and used != len(gear.values):
        raise InvalidOptionError(
            f"gear {list(gear.values)} has {len(gear.values)} values for {used} open dimensions",
            option="gears",
        )
    return shapes


def gear_outputs(
    model: bytes, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], gears: Sequence[Gear]
) -> list[list[Shape]]:
    """Return the outputs' shapes, by gear and output; without gears those of the inputs' own shapes.

    Raises
    ------
    InvalidOptionError, ModelFileError
        A gear that does not fit the inputs; a model that does not run in it.
    MissingDependencyError
        onnxruntime is not installed.
    """
    wanted = [fill_gear(inputs, gear) for gear in (gears or (None,))]
    by_batch = all(tensor.shape and -1 not in tensor.shape[1:] for tensor in outputs)
    if gears and gears[0].kind == "batch" and by_batch and all(tensor.shape[0] == -1 for tensor in outputs):
        return [[(*gear.values, *tensor.shape[1:]) for tensor in outputs] for gear in gears]
    try:
        onnxruntime = import_onnxruntime()
    except ImportError as error:
        raise MissingDependencyError(
            "the sizes of the model's outputs in each gear are found by running it, which needs onnxruntime: "
            "pip install onnxruntime",
            package="onnxruntime",
        ) from error
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    try:
        session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
        names = [tensor.name for tensor in outputs]
        found = []
        for shapes in wanted:
            feed = {
                tensor.name: np.zeros(shape, tensor.dtype.numpy)
                for tensor, shape in zip(inputs, shapes, strict=True)
            }
            found.append([tuple(int(n) for n in result.shape) for result in session.run(names, feed)])
    except Exception as error:  # onnxruntime raises classes of its own, derived from Exception alone
        raise ModelFileError(
            f"the model does not run in onnxruntime: {error}", path=None, reason=str(error)
        ) from error
    return found
