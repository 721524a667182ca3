"""From what a row holds to the arrays of one sample."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidInputError
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
    if tensor.dtype is DataType.BYTES:
        texts = np.asarray(value, dtype=object)
        if any(not isinstance(item, str | bytes) for item in texts.reshape(-1)):
            raise _refused(tensor, value, "text")
        return texts
    wanted = tensor.dtype.numpy
    try:
        plain = np.asarray(value)
        if plain.dtype.kind in "US":
            plain = _numbers(plain, whole=wanted.kind in "iub")
    except ValueError as error:
        raise _refused(tensor, value, str(wanted)) from error
    if plain.dtype.kind not in "iufb":
        raise _refused(tensor, value, str(wanted))
    if wanted.kind in "iub":
        if plain.dtype.kind == "f" and not (plain == np.trunc(plain)).all():
            raise _refused(tensor, value, f"whole numbers ({wanted})")
        least, most = (0, 1) if wanted.kind == "b" else (np.iinfo(wanted).min, np.iinfo(wanted).max)
        if plain.size and not (least <= plain.min() and plain.max() <= most):
            raise _refused(tensor, value, f"numbers from {least} to {most} ({wanted})")
    with np.errstate(over="ignore"):  # a number that a narrow type has no room for is its infinity
        return plain.astype(wanted)


def _numbers(texts: Array, *, whole: bool) -> Array:
    if whole:
        try:
            return texts.astype(np.int64)
        except (ValueError, OverflowError):
            return texts.astype(np.float64)
    return texts.astype(np.float64)


def _refused(tensor: TensorSpec, value: object, expected: str) -> InvalidInputError:
    got = repr(value)
    got = got if len(got) <= 60 else f"{got[:57]}..."
    return InvalidInputError(
        f"input {tensor.name!r}: got {got}, expected {expected}",
        input=tensor.name,
        expected=expected,
        got=got,
    )
