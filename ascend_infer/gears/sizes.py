"""Which sizes a model runs in: one, several gears, or any within limits.

Values only: nothing here opens a file, starts a thread or needs numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal

from ascend_infer.types import DataType, Gear

__all__ = ["CompiledSize", "Dims", "ModelSizes", "SizedInput", "SizedOutput"]

Dims = tuple[int, ...]
SizeKind = Literal["static", "batch", "hw", "dims", "shape"]


@dataclass(frozen=True, slots=True)
class SizedInput:
    """One input that the caller feeds.

    Attributes
    ----------
    name : str
    dtype : DataType
    dims : tuple of int
        As the model declares them: -1 where a gear or the caller decides.
    limits : tuple of (int, int)
        Least and largest size of each dimension of a dynamic-shape model, largest -1 for none; else empty.
    """

    name: str
    dtype: DataType
    dims: Dims
    limits: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SizedOutput:
    """One output; ``alias`` is its name in the model that this one was compiled from."""

    name: str
    alias: str = ""


@dataclass(frozen=True, slots=True)
class CompiledSize:
    """One size the model was compiled for.

    Attributes
    ----------
    gear : Gear or None
        What is set before the launch; None where there is nothing to set.
    inputs : tuple of dims
        What to feed, in the order of the model's inputs.
    outputs : tuple of dims, or None
        What comes out; None where the file does not say.
    """

    gear: Gear | None
    inputs: tuple[Dims, ...]
    outputs: tuple[Dims, ...] | None = None

    @property
    def elements(self) -> int:
        """Elements of all inputs together."""
        return sum(map(prod, self.inputs))


@dataclass(frozen=True)
class ModelSizes:
    """The sizes of one model.

    Attributes
    ----------
    kind : {"static", "batch", "hw", "dims", "shape"}
        ``"shape"`` is true dynamic shape, which has no sizes but limits.
    inputs : tuple of SizedInput
    outputs : tuple of SizedOutput
    sizes : tuple of CompiledSize
        Empty for kind ``"shape"``, one for ``"static"``.
    batched : bool
        The first axis counts independent rows (``max_batch_size`` above 0, or batch gears).
    order : tuple of (int, int)
        Input and axis that each value of a gear fills, in the gear's order.
    """

    kind: SizeKind
    inputs: tuple[SizedInput, ...]
    outputs: tuple[SizedOutput, ...]
    sizes: tuple[CompiledSize, ...] = ()
    batched: bool = False
    order: tuple[tuple[int, int], ...] = ()

    @cached_property
    def row_inputs(self) -> frozenset[int]:
        """Inputs whose first axis counts rows; empty when the model has none or they do not agree."""
        if not self.batched or not all(tensor.dims for tensor in self.inputs):
            open_ones = [i for i, tensor in enumerate(self.inputs) if tensor.dims[:1] == (-1,)]
            chosen = open_ones if self.batched else []
        else:
            chosen = list(range(len(self.inputs)))
        for candidates in (chosen, [i for i in chosen if self.inputs[i].dims[0] == -1]):
            if candidates and all(_agree(size, candidates) for size in self.sizes):
                if self.kind == "shape" and any(self.inputs[i].dims[0] != -1 for i in candidates):
                    continue
                return frozenset(candidates)
        return frozenset()

    @cached_property
    def row_outputs(self) -> frozenset[int]:
        """Outputs whose first axis grows with the rows; where the file does not say, all of them."""
        if not self.row_inputs:
            return frozenset()
        return frozenset(i for i in range(len(self.outputs)) if self._output_has_rows(i))

    @cached_property
    def rows_are_free(self) -> bool:
        """Whether rows may be added, dropped and split: every output has them."""
        return bool(self.row_inputs) and len(self.row_outputs) == len(self.outputs)

    @cached_property
    def most_rows(self) -> int:
        """Rows of the largest size; 0 without rows, or without a limit."""
        if self.kind == "shape":
            tops = [self.inputs[i].limits[0][1] for i in self.row_inputs if self.inputs[i].limits]
            return min((top for top in tops if top > 0), default=0)
        return max((self.rows_of(size) or 0 for size in self.sizes), default=0)

    def rows_of(self, size: CompiledSize) -> int | None:
        """Return how many rows a size takes; None without rows."""
        return next((size.inputs[i][0] for i in self.row_inputs), None)

    def is_row_axis(self, number: int, axis: int) -> bool:
        """Whether an input's axis counts rows."""
        return axis == 0 and number in self.row_inputs

    def output_index(self, name: str) -> int | None:
        """Return the position of an output by its name or its one alias; None when there is none."""
        exact = [i for i, output in enumerate(self.outputs) if output.name == name]
        found = exact or [i for i, output in enumerate(self.outputs) if output.alias == name]
        return found[0] if len(found) == 1 else None

    def values(self, shapes: Sequence[Dims]) -> Dims:
        """Return shapes in the gears' own terms, ``(batch,)`` or what fills the open dimensions."""
        order = self.order or tuple(
            (i, axis) for i, tensor in enumerate(self.inputs) for axis, d in enumerate(tensor.dims) if d == -1
        )
        if not order:
            order = tuple((0, axis) for axis in range(len(shapes[0]))) if shapes else ()
        return tuple(shapes[i][axis] for i, axis in order if i < len(shapes) and axis < len(shapes[i]))

    def _output_has_rows(self, number: int) -> bool:
        ratios = set()
        for size in self.sizes:
            rows = self.rows_of(size)
            if size.outputs is None or not rows:
                continue
            dims = size.outputs[number]
            if not dims or dims[0] % rows:
                return False
            ratios.add(dims[0] // rows)
        counts = {self.rows_of(size) for size in self.sizes}
        # With one size nothing shows how the output grows: only as many rows as went in are rows.
        return not ratios or (len(ratios) == 1 and (len(counts) > 1 or ratios == {1}))


def _agree(size: CompiledSize, numbers: Sequence[int]) -> bool:
    return len({size.inputs[i][0] for i in numbers}) == 1
