"""Putting outputs where a caller wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidInputError

__all__ = ["fill_out"]

Array = np.ndarray[Any, np.dtype[Any]]


def fill_out(names: Sequence[str], arrays: Sequence[Array], out: Mapping[str, Array]) -> list[Array]:
    """Copy outputs into the arrays a caller gave; returns those arrays in the outputs' places.

    Raises
    ------
    InvalidInputError
        An output's shape, known only now, is not the given array's.
    """
    results = []
    for name, array in zip(names, arrays, strict=True):
        target = out.get(name)
        if target is not None and target is not array:
            if target.shape != array.shape:
                raise InvalidInputError(
                    f"output {name!r} has shape {list(array.shape)}, the array given in `out` has "
                    f"{list(target.shape)}",
                    input=name,
                    expected=f"shape {list(array.shape)}",
                    got=f"shape {list(target.shape)}",
                )
            if target.ctypes.data != array.ctypes.data:  # not written in place
                target[...] = array
        results.append(array if target is None else target)
    return results
