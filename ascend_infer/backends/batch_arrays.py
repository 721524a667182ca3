"""The arrays of a batch: each input one array, or those of several requests whose rows follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ascend_infer.backends.base import Array
from ascend_infer.device_pointer import DevicePointer
from ascend_infer.errors import InvalidInputError, ModelExecutionError

__all__ = ["Batchable", "batch_shape", "joined", "refuse_pointers"]

#: An input of a batch: an array, or the arrays of several requests whose rows follow each other.
Batchable: TypeAlias = Array | list[Array]


def batch_shape(model: str, name: str, given: Batchable) -> tuple[int, ...]:
    """Return the shape of an input's rows together.

    Raises
    ------
    ModelExecutionError
        Arrays of a list whose rows have different shapes.
    """
    if not isinstance(given, list):
        shape: tuple[int, ...] = given.shape
        return shape
    row = given[0].shape[1:]
    for part in given:
        if part.shape[1:] != row:
            # Each by itself they may do.
            raise ModelExecutionError(
                f"input {name!r}: rows of shapes {list(row)} and {list(part.shape[1:])} do not run as one batch",
                model=model,
            )
    return (sum(part.shape[0] for part in given), *row)


def joined(given: Sequence[Batchable]) -> list[Array]:
    """Return inputs with the arrays of lists made one, for what cuts or pads them."""
    return [np.concatenate(array) if isinstance(array, list) else array for array in given]


def refuse_pointers(names: Sequence[str], arrays: Sequence[Array | DevicePointer]) -> None:
    """Refuse tensors on the device where more than their rows would be padded: that is done on the host."""
    for name, array in zip(names, arrays, strict=True):
        if isinstance(array, DevicePointer):
            raise InvalidInputError(
                f"input {name!r}: got a DevicePointer of shape {list(array.shape)}, which no compiled size has: its "
                "rows are padded on the device, other axes only of arrays on the host; give it in a compiled size",
                input=name,
                expected="a compiled size",
                got=f"shape {list(array.shape)}",
            )
