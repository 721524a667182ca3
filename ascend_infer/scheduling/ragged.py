"""Batches of requests whose inputs differ in shape: laid end to end, told apart by tensors made here, cut again.

Meaning and shapes are Triton's: allow_ragged_batch, batch_input and batch_output of model_config.proto, and its
backends' BackendInputCollector and BackendOutputResponder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

import numpy as np

from ascend_infer.backends.base import Array
from ascend_infer.config import Completed
from ascend_infer.config.tensor_config import BatchInputKind
from ascend_infer.errors import ModelExecutionError
from ascend_infer.types import DataType

__all__ = ["BatchAssembly", "GatheredBatch", "MadeInput", "PlacedRequest", "ScatteredOutput"]

#: A request's part of a batch's output is a view above this many bytes a row, and a copy below.
_SMALL_ROW = 4096

_LARGEST_COUNT = 2**31 - 1

Shape = tuple[int, ...]


class PlacedRequest(Protocol):
    """What is asked of a request.

    Attributes
    ----------
    arrays : list of ndarray or None
        In the order of the model's inputs; None for one left out.
    names : tuple of str
        Wanted outputs by the model's own names.
    rows : int
    """

    @property
    def arrays(self) -> Sequence[Any]: ...  # noqa: D102
    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def rows(self) -> int: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class MadeInput:
    """Inputs of the model that are made out of the shapes of another one, by the model's own names."""

    kind: BatchInputKind
    dtype: DataType
    targets: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class ScatteredOutput:
    """An output that holds its requests' parts end to end.

    Attributes
    ----------
    source : str
        The input of the model whose shapes fill the open dims.
    dims : tuple of int
        Of one request's part, with the batch; -1 where the same dimension of the source goes.
    """

    source: str
    dims: tuple[int, ...]

    def shape(self, source: Shape) -> Shape:
        """Return the shape of the part of a request with this shape of the source."""
        return tuple([source[axis] if dim == -1 else dim for axis, dim in enumerate(self.dims)])


@dataclass(frozen=True, slots=True)
class BatchAssembly:
    """Makes the model's inputs of a batch's requests, and the requests' outputs of the model's.

    Attributes
    ----------
    model : str
        Name for messages.
    inputs : tuple of str
        The model's own names, in the order of a request's arrays.
    ragged : frozenset of str
        Inputs that the model takes as one flat array of all requests' elements.
    made : tuple of MadeInput
    scattered : mapping of str to ScatteredOutput
        By the model's own names.
    batched : bool
        Whether the first dimension of requests is their batch.
    titles : mapping of str to str
        What the configuration calls the model's tensors, for messages.

    Notes
    -----
    Thread safety: immutable. Every source of ``made`` and ``scattered`` is an input that no request leaves out.
    """

    model: str
    inputs: tuple[str, ...]
    ragged: frozenset[str] = frozenset()
    made: tuple[MadeInput, ...] = ()
    scattered: Mapping[str, ScatteredOutput] = field(default_factory=dict)
    batched: bool = True
    titles: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, model: str, completed: Completed, inputs: Sequence[str]) -> BatchAssembly | None:
        """Return what a configuration asks for; None for a model whose batches are rows and nothing else."""
        config, names = completed.config, completed.input_names
        ragged = frozenset(
            names[tensor.name]
            for tensor in config.input
            if tensor.allow_ragged_batch and tensor.name in names
        )
        if not (ragged or config.batch_input or config.batch_output):
            return None
        batch = (-1,) if config.max_batch_size else ()
        stated = {tensor.name: tensor for tensor in config.output}
        scattered = {}
        for entry in config.batch_output:
            for target in entry.target_name:
                tensor = stated[target]
                dims = tensor.reshape.shape if tensor.reshape is not None else tensor.dims
                source = names[entry.source_input[0]]
                scattered[completed.output_names[target]] = ScatteredOutput(source, batch + dims)
        made = tuple(
            MadeInput(
                entry.kind,
                entry.data_type or DataType.INT32,
                tuple(completed.made_inputs[target] for target in entry.target_name),
                names[entry.source_input[0]],
            )
            for entry in config.batch_input
        )
        titles = {
            own: name
            for mapping in (names, completed.output_names, completed.made_inputs)
            for name, own in mapping.items()
        }
        return cls(model, tuple(inputs), ragged, made, scattered, bool(batch), titles)

    def gather(self, requests: Sequence[PlacedRequest]) -> GatheredBatch:
        """Put the requests' inputs together; a copy, but for a request by itself.

        Raises
        ------
        ModelExecutionError
            The counts of so many elements do not fit the data type of an input that is made of them.
        """
        given = [request.arrays for request in requests]
        feed: dict[str, Any] = {}
        for place, name in enumerate(self.inputs):
            column = [arrays[place] for arrays in given]
            if column[0] is None:
                continue
            if name in self.ragged:
                # Not reshape(-1): memory on the device has to be told its size.
                column = [array.reshape((prod(array.shape),)) for array in column]
            feed[name] = column[0] if len(column) == 1 else np.concatenate(column)
        shapes = {
            name: [arrays[self.inputs.index(name)].shape for arrays in given]
            for name in {
                *(entry.source for entry in self.made),
                *(entry.source for entry in self.scattered.values()),
            }
        }
        for made in self.made:
            tensor = self._make(made, shapes[made.source])
            for target in made.targets:
                feed[target] = tensor
        return GatheredBatch(
            self,
            feed,
            shapes,
            [request.rows for request in requests],
            [request.names for request in requests],
        )

    def title(self, name: str) -> str:
        """Return what the configuration calls a tensor of the model."""
        return self.titles.get(name, name)

    def targets(self, out: Mapping[str, Array] | None) -> Mapping[str, Array] | None:
        """Return those of a caller's arrays that the model may write to: the others are filled out of its own."""
        return out and {name: array for name, array in out.items() if name not in self.scattered}

    def _make(self, made: MadeInput, shapes: Sequence[Shape]) -> Array:
        kind, dtype = made.kind, made.dtype.numpy
        if kind in (BatchInputKind.BATCH_ITEM_SHAPE, BatchInputKind.BATCH_ITEM_SHAPE_FLATTEN):
            if self.batched:
                items = np.array([shape[1:] for shape in shapes], dtype)
                items = np.repeat(items, [shape[0] for shape in shapes], axis=0)
            else:
                items = np.array(shapes, dtype)
            return items if kind is BatchInputKind.BATCH_ITEM_SHAPE else items.reshape(-1)
        counts = [prod(shape) for shape in shapes]
        if kind is BatchInputKind.BATCH_MAX_ELEMENT_COUNT_AS_SHAPE:
            return np.zeros(max(counts), dtype)
        if sum(counts) > _LARGEST_COUNT:
            source, target = self.title(made.source), self.title(made.targets[0])
            raise ModelExecutionError(
                f"model {self.model!r}: input {source!r} has {sum(counts):,} elements in a batch of {len(counts)} "
                f"{_noun('request', len(counts))}, expected at most {_LARGEST_COUNT:,}, which is what {target!r} can "
                "count; lower max_batch_size or send smaller requests",
                model=self.model,
            )
        if kind is BatchInputKind.BATCH_ELEMENT_COUNT:
            return np.array(counts, dtype)
        first = [0] if kind is BatchInputKind.BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO else []
        return np.array(first + np.cumsum(counts).tolist(), dtype)


@dataclass(frozen=True, slots=True)
class GatheredBatch:
    """A batch as the model takes it, and what it takes to answer its requests.

    Attributes
    ----------
    assembly : BatchAssembly
    feed : dict of str to ndarray
        By the model's own names.
    shapes : mapping of str to list of tuple of int
        Of each request's source inputs.
    rows : list of int
        Of each request.
    names : list of tuple of str
        The outputs that each request wants.
    """

    assembly: BatchAssembly
    feed: dict[str, Any]
    shapes: Mapping[str, Sequence[Shape]]
    rows: Sequence[int]
    names: Sequence[tuple[str, ...]]

    def answers(self, names: Sequence[str], arrays: Sequence[Array]) -> list[list[Array]]:
        """Return each request's outputs in the order of its names.

        Parameters
        ----------
        names, arrays : sequence
            What the model gave.

        Returns
        -------
        list of list of ndarray
            A request by itself gets the model's own arrays. Of a batch, parts of more than 4 KiB a row are views,
            smaller ones copies.

        Raises
        ------
        ModelExecutionError
            An output does not have as many rows, or elements, as the requests make together.
        """
        parts = {name: self._cut(name, array) for name, array in zip(names, arrays, strict=True)}
        return [[parts[name][i] for name in wanted] for i, wanted in enumerate(self.names)]

    def _cut(self, name: str, array: Array) -> list[Array]:
        scattered = self.assembly.scattered.get(name)
        if scattered is None:
            return self._cut_rows(name, array)
        shapes = [scattered.shape(source) for source in self.shapes[scattered.source]]
        sizes = [prod(shape) for shape in shapes]
        if array.size != sum(sizes):
            listed = ", ".join(str(list(shape)) for shape in shapes[:4]) + (", ..." if shapes[4:] else "")
            title, source = self.assembly.title(name), self.assembly.title(scattered.source)
            raise ModelExecutionError(
                f"model {self.assembly.model!r}: output {title!r} came back with {array.size} "
                f"{_noun('element', array.size)} (shape {list(array.shape)}), expected {sum(sizes)}: {listed} for the "
                f"batch's {len(shapes)} {_noun('request', len(shapes))}, by the shape of {source!r}. Correct the "
                "output's dims or its batch_output in config.pbtxt, or the model",
                model=self.assembly.model,
            )
        flat = array.reshape(-1)
        parts, start = [], 0
        for shape, size, rows in zip(shapes, sizes, self.rows, strict=True):
            parts.append(self._own(flat[start : start + size], rows).reshape(shape))
            start += size
        return parts

    def _cut_rows(self, name: str, array: Array) -> list[Array]:
        if len(self.rows) == 1:
            return [array]
        total = sum(self.rows)
        if array.shape[:1] != (total,):
            raise ModelExecutionError(
                f"model {self.assembly.model!r}: output {self.assembly.title(name)!r} came back with shape "
                f"{list(array.shape)} for a batch of {total} rows; expected [{total}, ...]. An output that follows an "
                "input's shape needs a batch_output in config.pbtxt",
                model=self.assembly.model,
            )
        parts, start = [], 0
        for rows in self.rows:
            parts.append(self._own(array[start : start + rows], rows))
            start += rows
        return parts

    def _own(self, part: Array, rows: int) -> Array:
        whole = len(self.rows) == 1
        return part if whole or part.nbytes > _SMALL_ROW * rows else part.copy()


def _noun(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
