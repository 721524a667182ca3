"""Making up requests for a model: random or zero, in its own types and sizes."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ascend_infer.errors import InvalidInputError, InvalidOptionError
from ascend_infer.onnx_file import ValueLimit
from ascend_infer.refusal import fits, shown, unknown_name
from ascend_infer.trial_inputs.value_range import ValueRange
from ascend_infer.types import DataType, TensorSpec

__all__ = ["InputMaker"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class InputMaker:
    """Makes requests for one model.

    Parameters
    ----------
    model : str
        The model's name, for errors.
    inputs : sequence of TensorSpec
        What it takes, batch included; optional inputs without a shape in ``shapes`` are left out.
    batched : bool
        The first dimension of every input is the batch.
    batch : int
        Rows of each request, where ``batched``.
    shapes : mapping of str to sequence of int
        Sizes of open dimensions, the batch not counted where ``batched``.
    ranges : mapping of str to ValueRange
        Stated by the user; these go before what the model shows.
    limits : mapping of str to ValueLimit
        What the model file shows.
    fill : {"random", "zero"}
        Random: fractions from 0 to below 1, uint8 from 0 to 255, truth values either; other whole numbers need a
        limit or a range. Masks have ones first and zeros behind them, at least one one a row.
    text : str or None
        For BYTES inputs; otherwise random letters.
    text_length : int
        How many letters.

    Raises
    ------
    InvalidInputError
        A name in ``shapes`` or ``ranges`` is no input, or a shape does not fit.
    InvalidOptionError
        A range does not fit its input's type, or ``batch`` is above 1 and there is no batch.
    """

    model: str
    inputs: Sequence[TensorSpec]
    batched: bool
    batch: int = 1
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    ranges: Mapping[str, ValueRange] = field(default_factory=dict)
    limits: Mapping[str, ValueLimit] = field(default_factory=dict)
    fill: Literal["random", "zero"] = "random"
    text: str | None = None
    text_length: int = 128

    def __post_init__(self) -> None:
        tensors = {tensor.name: tensor for tensor in self.inputs}
        for name in (*self.shapes, *self.ranges):
            if name not in tensors:
                raise unknown_name(self.model, "input", name, list(tensors))
        for name, stated in self.ranges.items():
            _check_range(tensors[name], stated)
        if self.batch > 1 and not self.batched:
            raise InvalidOptionError(
                f"batch {self.batch}: model {self.model!r} takes no batch (max_batch_size is 0, or the first "
                "dimension of an input is fixed); expected a batch of 1",
                option="batch",
                got=self.batch,
            )

    def make(self, seed: int | None = None) -> dict[str, Array]:
        """Return one request, arrays by input name; the same seed gives the same numbers.

        Raises
        ------
        InvalidInputError
            An open dimension has no size, or whole numbers no range.
        """
        random = np.random.default_rng(seed)
        return {
            tensor.name: self.make_input(tensor, random)
            for tensor in self.inputs
            if not tensor.optional or tensor.name in self.shapes
        }

    def make_input(self, tensor: TensorSpec, random: np.random.Generator) -> Array:
        """Return one input's array; errors as of :meth:`make`."""
        shape = self._shape(tensor)
        try:
            if tensor.dtype is DataType.BYTES:
                return self._texts(shape, random)
            if self.fill == "zero":
                return np.zeros(shape, tensor.dtype.numpy)
            return self._random(tensor, shape, random)
        except (MemoryError, ValueError) as error:
            if isinstance(error, InvalidInputError):
                raise
            # The latter: more than numpy can count.
            raise InvalidInputError(
                f"input {tensor.name!r}: {tensor.dtype} of shape {list(shape)} does not fit into memory; --shape"
                f"{' and -b state smaller ones' if self.batched else ' states a smaller one'}",
                input=tensor.name,
                expected="a shape that fits into memory",
                got=str(list(shape)),
            ) from error

    def _shape(self, tensor: TensorSpec) -> tuple[int, ...]:
        stated = self.shapes.get(tensor.name)
        inner = tensor.shape[1:] if self.batched else tensor.shape
        if stated is None:
            if inner == (-2,) or -1 in inner:
                form = "d" if inner == (-2,) else ",".join("d" if dim == -1 else str(dim) for dim in inner)
                raise InvalidInputError(
                    f"input {tensor.name!r} has open dimensions, {tensor.dtype}{shown(inner)}"
                    f"{', the batch not counted' if self.batched else ''}: state them with --shape "
                    f"{tensor.name}:{form}",
                    input=tensor.name,
                    expected="a size for every dimension",
                    got=str(list(inner)),
                )
            sizes = tuple(inner)
        else:
            sizes = tuple(stated)
            if inner != (-2,) and not fits(sizes, tuple(inner)):
                raise InvalidInputError(
                    f"input {tensor.name!r}: got shape {list(sizes)}, expected {shown(inner)}"
                    f"{'; the batch is not part of it' if self.batched else ''}",
                    input=tensor.name,
                    expected=shown(inner),
                    got=str(list(sizes)),
                )
        return (self.batch, *sizes) if self.batched else sizes

    def _texts(self, shape: tuple[int, ...], random: np.random.Generator) -> Array:
        texts = np.empty(shape, dtype=object)
        letters = np.frombuffer(string.ascii_letters.encode(), np.uint8)
        for index in np.ndindex(shape):
            if self.text is not None:
                texts[index] = self.text
            elif self.fill == "zero":
                texts[index] = ""
            else:
                texts[index] = random.choice(letters, self.text_length).tobytes().decode()
        return texts

    def _random(self, tensor: TensorSpec, shape: tuple[int, ...], random: np.random.Generator) -> Array:
        wanted = tensor.dtype.numpy
        stated = self.ranges.get(tensor.name)
        if wanted.kind == "b":
            return random.integers(0, 2, shape).astype(wanted)
        if wanted.kind not in "iu":
            low, high = (0.0, 1.0) if stated is None else (stated.low, stated.high)
            if wanted.kind == "c":
                return (random.random(shape) + 1j * random.random(shape)).astype(wanted)
            return (low + random.random(shape) * (high - low)).astype(wanted)
        if stated is not None:
            first, last = stated.whole
            return random.integers(first, last, shape, _wide(wanted), endpoint=True).astype(wanted)
        limit = self.limits.get(tensor.name)
        if (limit is not None and limit.mask) or (limit is None and "mask" in tensor.name.lower()):
            return _mask(shape, random).astype(wanted)
        if limit is not None:
            last = min(limit.size - 1, int(np.iinfo(wanted).max))
            return random.integers(0, last, shape, endpoint=True).astype(wanted)
        if tensor.dtype is DataType.UINT8:
            return random.integers(0, 256, shape, np.uint8)
        raise InvalidInputError(
            f"input {tensor.name!r} takes {tensor.dtype}, and the model file does not show which whole numbers it may "
            f"be given; state them with --range {tensor.name}:LOWEST,HIGHEST",
            input=tensor.name,
            expected="a range",
            got="none",
        )


def _check_range(tensor: TensorSpec, stated: ValueRange) -> None:
    dtype = tensor.dtype
    kind = "O" if dtype is DataType.BYTES else dtype.numpy.kind
    if kind in "Obc":
        expected = "no range: it takes " + {"O": "text", "b": "truth values", "c": "complex numbers"}[kind]
    elif kind in "iu":
        bounds = np.iinfo(dtype.numpy)
        first, last = stated.whole
        if first <= last and bounds.min <= first and last <= bounds.max:
            return
        expected = f"whole numbers of {dtype}, {bounds.min} to {bounds.max}"
    else:
        return
    raise InvalidOptionError(
        f"--range {tensor.name}: got {stated.low:g} to {stated.high:g}, expected {expected}",
        option="range",
        got=f"{stated.low:g},{stated.high:g}",
    )


def _wide(dtype: np.dtype[Any]) -> Any:
    return np.uint64 if dtype.kind == "u" else np.int64


def _mask(shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Return ones, at least one, and zeros behind them along the last axis."""
    if not shape or shape[-1] == 0:
        return np.ones(shape, np.int64)
    lengths = random.integers(1, shape[-1], shape[:-1], endpoint=True)
    return (np.arange(shape[-1]) < np.asarray(lengths)[..., None]).astype(np.int64)
