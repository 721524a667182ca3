"""Which input and output of B is which of A's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_infer.errors import InvalidInputError
from ascend_infer.types import DataType, TensorSpec

if TYPE_CHECKING:
    from ascend_infer.session import Session

__all__ = ["Pairing"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Pairing:
    """A's names to B's.

    Attributes
    ----------
    inputs, outputs : mapping of str to str
        By name; by position where no name of A's is one of B's and there are as many.
    types : mapping of str to DataType
        Of B's inputs.
    notes : tuple of str
        What was taken for granted.
    missing, extra : tuple of str
        Outputs that only A, only B has.
    """

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    types: Mapping[str, DataType]
    notes: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]

    @classmethod
    def of(cls, a: Session, b: Session) -> Pairing:
        """Pair two sessions' tensors.

        Raises
        ------
        InvalidInputError
            B takes an input that A does not have: then nothing can be fed to both.
        """
        notes: list[str] = []
        inputs = _paired("input", a.inputs, b.inputs, notes)
        needed = [item.name for item in b.inputs if not item.optional and item.name not in inputs.values()]
        if needed:
            listed = ", ".join(repr(item.name) for item in a.inputs)
            raise InvalidInputError(
                f"B, {b.name!r}, takes input {needed[0]!r}, which A, {a.name!r}, has not (it has {listed}); the two "
                "cannot be fed the same",
                input=needed[0],
                expected=listed,
                got=needed[0],
            )
        outputs = _paired("output", a.outputs, b.outputs, notes)
        notes += [
            f"input {item.name!r} of A is not an input of B, which runs without it"
            for item in a.inputs
            if item.name not in inputs
        ]
        types = {item.name: item.dtype for item in b.inputs}
        for item in a.inputs:
            other = inputs.get(item.name)
            if other is not None and types[other] is not item.dtype:
                notes.append(
                    f"input {item.name!r} is {item.dtype} in A and {types[other]} in B; values are converted for B"
                )
        return cls(
            inputs,
            outputs,
            types,
            tuple(notes),
            tuple(item.name for item in a.outputs if item.name not in outputs),
            tuple(item.name for item in b.outputs if item.name not in outputs.values()),
        )

    def feed_for_b(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Return what B is fed; inputs that B has not are left out.

        Raises
        ------
        InvalidInputError
            A whole number is one that B's type does not have.
        """
        found = {}
        for name, array in feed.items():
            other = self.inputs.get(name)
            if other is None:
                continue
            dtype = self.types[other]
            # Text, and what would not be the same number any more, is for B's session to refuse.
            if dtype is not DataType.BYTES and _alike(array.dtype, dtype.numpy):
                _refuse_other_numbers(name, array, dtype)
                array = array.astype(dtype.numpy, copy=False)
            found[other] = array
        return found


def _alike(dtype: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    kinds = dtype.kind + wanted.kind
    return all(kind in "fV" for kind in kinds) or all(kind in "iu" for kind in kinds)


def _refuse_other_numbers(name: str, array: Array, wanted: DataType) -> None:
    """Refuse whole numbers that would wrap around."""
    if array.dtype.kind not in "iu" or not array.size:
        return
    limits = np.iinfo(wanted.numpy)
    for value in (int(array.min()), int(array.max())):
        if not limits.min <= value <= limits.max:
            expected = f"numbers from {limits.min} to {limits.max}, which B's {wanted} can hold"
            raise InvalidInputError(
                f"input {name!r}: got {value}, expected {expected}; compare on other inputs",
                input=name,
                expected=expected,
                got=str(value),
            )


def _paired(
    kind: str, first: Sequence[TensorSpec], second: Sequence[TensorSpec], notes: list[str]
) -> dict[str, str]:
    names = [item.name for item in first]
    others = [item.name for item in second]
    common = [name for name in names if name in others]
    if common or len(names) != len(others):
        return {name: name for name in common}
    pairs = dict(zip(names, others, strict=True))
    notes += [
        f"{kind} {name!r} of A is compared with {other!r} of B, by its place" for name, other in pairs.items()
    ]
    return pairs
