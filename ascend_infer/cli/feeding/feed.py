"""All inputs of one request: those that were given, the others made up where that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascend_infer.cli.feeding.assignment import GivenValue, assign_inputs, parse_shapes
from ascend_infer.cli.feeding.options import FeedOptions
from ascend_infer.cli.feeding.picture import prepare_pictures
from ascend_infer.cli.feeding.value import is_picture, is_raw, read_value
from ascend_infer.cli.printing import note
from ascend_infer.config import ModelConfig
from ascend_infer.errors import InvalidInputError, InvalidOptionError
from ascend_infer.onnx_file import ValueLimit
from ascend_infer.refusal import fits
from ascend_infer.shortened import shortened_repr
from ascend_infer.trial_inputs import InputMaker
from ascend_infer.types import DataType, TensorSpec

__all__ = ["make_feed"]

Array = np.ndarray[Any, np.dtype[Any]]


def make_feed(
    options: FeedOptions,
    inputs: Sequence[TensorSpec],
    config: ModelConfig,
    model: str,
    limits: Mapping[str, ValueLimit] | None = None,
) -> dict[str, Array]:
    """Return the arrays by input name; inputs that are left out and not to be made up are not in it.

    Parameters
    ----------
    options : FeedOptions
    inputs : sequence of TensorSpec
    config : ModelConfig
    model : str
        Its name, for errors.
    limits : mapping of str to ValueLimit, optional
        What the model file shows of the values that may be made up.

    Raises
    ------
    InvalidInputError, InvalidOptionError, ImageError
    """
    given = assign_inputs(options.inputs, inputs, model)
    shapes = parse_shapes(options.shapes, inputs, model)
    _refuse_idle_options(options, given, shapes, inputs)
    random = np.random.default_rng(options.seed)
    feed: dict[str, Array] = {}
    for tensor in inputs:
        values = given.get(tensor.name)
        if values:
            array = _read(values, tensor, shapes.get(tensor.name), config, options)
            feed[tensor.name] = _with_batch(array, tensor)
        elif options.fill is not None and (not tensor.optional or tensor.name in shapes):
            shape = shapes[tensor.name] if tensor.name in shapes else _smallest(tensor)
            maker = InputMaker(
                model,
                [tensor],
                batched=False,  # its size is in the shape
                shapes={tensor.name: shape},
                limits=_limits(tensor, limits or {}),
                fill="random" if options.fill == "random" else "zero",
            )
            feed[tensor.name] = maker.make_input(tensor, random)
    return feed


def _refuse_idle_options(
    options: FeedOptions,
    given: Mapping[str, Sequence[GivenValue]],
    shapes: Mapping[str, tuple[int, ...]],
    inputs: Sequence[TensorSpec],
) -> None:
    """Refuse options that nothing on this command line takes notice of: they were meant for something."""
    if options.seed is not None and options.fill != "random":
        raise InvalidOptionError(
            "--seed is for --random, which is not given", option="seed", got=options.seed
        )
    tensors = {tensor.name: tensor for tensor in inputs}
    for name in shapes:
        if name in given and not all(is_raw(value) for value in given[name]):
            raise InvalidOptionError(
                f"--shape is for raw files (.bin) and for inputs that --zeros or --random make up; input {name!r} is "
                f"given {shortened_repr(given[name][0].text)}, which has a shape of its own",
                option="shape",
                got=str(list(shapes[name])),
            )
    pictures = {"preset": options.preset, "size": options.size, "max-pixels": options.max_pixels}
    wanted = [option for option, value in pictures.items() if value is not None]
    if wanted and not any(
        is_picture(value, tensors[name]) for name, values in given.items() for value in values
    ):
        raise InvalidOptionError(
            f"--{wanted[0]} is for pictures, and no input is given one",
            option=wanted[0],
            got=pictures[wanted[0]],
        )


def _read(
    values: Sequence[GivenValue],
    tensor: TensorSpec,
    shape: tuple[int, ...] | None,
    config: ModelConfig,
    options: FeedOptions,
) -> Array:
    pictures = [is_picture(value, tensor) for value in values]
    if all(pictures):
        paths = [value.text for value in values]
        return prepare_pictures(paths, tensor, config, options)
    if len(values) > 1:
        raise InvalidInputError(
            f"input {tensor.name!r} is given {len(values)} times; only pictures are put together to a batch, "
            "arrays are given as one file with all rows",
            input=tensor.name,
            expected="one value",
            got=f"{len(values)} values",
        )
    return read_value(values[0], tensor, shape, config.max_batch_size > 0)


def _with_batch(array: Array, tensor: TensorSpec) -> Array:
    """Add the batch dimension to what is exactly one sample, and say so."""
    shape = tensor.shape
    if len(shape) != array.ndim + 1 or shape[0] not in (-1, 1) or not fits(array.shape, shape[1:]):
        return array
    note(f"{tensor.name}: {list(array.shape)} is one sample; taken as a batch of one, {[1, *array.shape]}")
    return array[None]


def _smallest(tensor: TensorSpec) -> tuple[int, ...]:
    """Return the input's shape with open dimensions of 1."""
    if tensor.shape == (-2,):
        return ()
    if -1 in tensor.shape[1:]:
        note(f"{tensor.name}: open dimensions of {list(tensor.shape)} taken as 1; --shape states others")
    return tuple(1 if dim == -1 else dim for dim in tensor.shape)


def _limits(tensor: TensorSpec, known: Mapping[str, ValueLimit]) -> dict[str, ValueLimit]:
    """Return which whole numbers an input is fed; where the model does not show it, those that every table has."""
    if tensor.name in known:
        return {tensor.name: known[tensor.name]}
    if tensor.dtype is DataType.UINT8:  # a picture, more likely
        return {}
    return {tensor.name: ValueLimit(2, "the model does not say", mask="mask" in tensor.name.lower())}
