"""From what a row holds to the arrays of one sample."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidInputError
from ascend_infer.scoring.plain_numbers import numbers_of, refused
from ascend_infer.types import DataType, TensorSpec

__all__ = ["Array", "Sample", "sample_of"]

Array = np.ndarray[Any, np.dtype[Any]]
#: Arrays by input, without the batch dimension.
Sample = dict[str, Array]


def sample_of(item: Any, inputs: Mapping[str, TensorSpec]) -> Sample:
    """Return the arrays that an item stands for.

    numpy arrays keep their data type, so that the session's own rules hold for them; Python's numbers and texts become
    what the input wants. A record names inputs; for a model of one input its only value will do, or all its values as
    the elements of the input, in order.

    Parameters
    ----------
    item : object
        An array, a number, a list, or a record: values by input or column.
    inputs : mapping of str to TensorSpec
        Shapes without the batch dimension.

    Raises
    ------
    InvalidInputError
    """
    if not isinstance(item, Mapping):
        return {name: _array(item, tensor) for name, tensor in [_only(inputs, type(item).__name__)]}
    present = {name: item[name] for name in inputs if name in item}
    missing = [name for name, tensor in inputs.items() if name not in present and not tensor.optional]
    if not missing:
        return {name: _array(value, inputs[name]) for name, value in present.items()}
    if present or len(inputs) > 1:
        listed = ", ".join(map(repr, item)) or "nothing"
        raise InvalidInputError(
            f"input {missing[0]!r} is missing: the record has {listed}",
            input=missing[0],
            expected=", ".join(inputs),
            got=listed,
        )
    name, tensor = _only(inputs, "a record")
    values = list(item.values())
    return {name: _array(values[0] if len(values) == 1 else values, tensor)}


def _only(inputs: Mapping[str, TensorSpec], got: str) -> tuple[str, TensorSpec]:
    if len(inputs) != 1:
        raise InvalidInputError(
            f"got {got}, expected values by name for the inputs {', '.join(inputs)}",
            expected=", ".join(inputs),
            got=got,
        )
    return next(iter(inputs.items()))


def _array(value: Any, tensor: TensorSpec) -> Array:
    if isinstance(value, np.ndarray | np.generic):
        found = np.asarray(value)
    elif isinstance(value, str | bytes | int | float | bool | list | tuple) or value is None:
        found = _converted(value, tensor)
    else:
        found = np.asarray(value)
    dims = tensor.shape
    if found.shape != dims and found.ndim <= 1 and -1 not in dims and prod(dims) == found.size:
        found = found.reshape(dims)
    return found


def _converted(value: Any, tensor: TensorSpec) -> Array:
    """Convert Python's own values, which have no data type that was meant."""
    if tensor.dtype is not DataType.BYTES:
        return numbers_of(value, tensor)
    texts = np.asarray(value, dtype=object)
    if any(not isinstance(item, str | bytes) for item in texts.reshape(-1)):
        raise refused(tensor, value, "text")
    return texts
