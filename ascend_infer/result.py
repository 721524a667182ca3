"""What a request gives back: arrays by name, with how long each step took."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ascend_infer.errors import InvalidInputError

if TYPE_CHECKING:
    from ascend_infer.image import Label

__all__ = ["InferResult", "ResultOrigin", "Timing"]

Array = np.ndarray[Any, np.dtype[Any]]


class Timing(NamedTuple):
    """How long a request took, in nanoseconds, and the batch it ran in; the names are Triton's.

    Attributes
    ----------
    compute_input_ns : int
        Checking and converting the inputs, and gathering them into the batch.
    queue_ns : int
        Waiting for an instance, and for company.
    compute_infer_ns : int
        The model.
    compute_output_ns : int
        Handing out the outputs.
    batch_rows : int
        Rows that ran together, those of other requests included.
    padded_rows : int
        Rows that were added to reach a compiled size.
    gear : str
        The compiled size, where the model has several; empty otherwise.
    instance : str
        Which copy of the model ran it.
    """

    compute_input_ns: int
    queue_ns: int
    compute_infer_ns: int
    compute_output_ns: int
    batch_rows: int = 1
    padded_rows: int = 0
    gear: str = ""
    instance: str = ""

    @property
    def total_ns(self) -> int:
        """From the call until the result was there."""
        return self.compute_input_ns + self.queue_ns + self.compute_infer_ns + self.compute_output_ns


@dataclass(frozen=True, slots=True)
class ResultOrigin:
    """What all results of a session share.

    Attributes
    ----------
    model : str
    version : int or None
        None for a bare model file.
    device : str
    labels : callable
        Output's name to its labels, None where there are none.
    max_batch_size : int
    """

    model: str
    version: int | None
    device: str
    labels: Callable[[str], list[str] | None]
    max_batch_size: int


class AnsweredRequest(Protocol):
    """What a result asks of the request that it answers."""

    @property
    def request_id(self) -> str:
        """As the caller gave it."""
        ...

    @property
    def single(self) -> bool:
        """Whether it was one sample without a batch dimension."""
        ...

    @property
    def times(self) -> tuple[Any, ...]:
        """The fields of Timing."""
        ...


@dataclass(frozen=True, slots=True)
class KeptRequest:
    """A request as a pickled result has it."""

    request_id: str
    single: bool
    times: tuple[Any, ...]


class InferResult(Mapping[str, Array]):
    """A request's outputs: a mapping of name to ndarray.

    The arrays belong to the caller and stay valid after the session is closed. Those given as ``out`` are the
    arrays given.

    Notes
    -----
    Thread safety: read-only. Pickling keeps arrays, timing, version, device and labels.
    """

    __slots__ = ("_arrays", "_origin", "_request")

    def __init__(self, arrays: dict[str, Array], origin: ResultOrigin, request: AnsweredRequest) -> None:
        self._arrays = arrays
        self._origin = origin
        self._request = request

    # A mapping of arrays has no equality of its own: numpy's is element by element.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __getitem__(self, name: str) -> Array:
        try:
            return self._arrays[name]
        except KeyError:
            listed = ", ".join(repr(item) for item in self._arrays)
            raise KeyError(f"{name!r} is no output of this result; it has {listed}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    @property
    def timing(self) -> Timing:
        """How long each step took, and the batch it was part of."""
        return Timing(*self._request.times)

    @property
    def request_id(self) -> str:
        """As the caller gave it."""
        return self._request.request_id

    @property
    def model(self) -> str:
        """The model's name."""
        return self._origin.model

    @property
    def version(self) -> int | None:
        """The version that answered; None for a bare model file."""
        return self._origin.version

    @property
    def device(self) -> str:
        """Where it ran: ``"cpu"``, ``"npu:0"``."""
        return self._origin.device

    def labels(self, name: str) -> list[str] | None:
        """Return an output's labels by index, from its label file; None where it has none."""
        return self._origin.labels(name)

    def top_k(
        self, name: str | None = None, k: int = 5, softmax: bool = False
    ) -> list[list[Label]] | list[Label]:
        """Return the k highest scores of an output with their labels.

        Parameters
        ----------
        name : str, optional
            The output; may be left out where there is one.
        k : int
        softmax : bool
            The output holds logits: turn them into probabilities first.

        Returns
        -------
        list of list of Label, or list of Label
            A list per row of the batch, highest score first; one list where there is no batch. Labels come
            from the ``label_filename`` of the configuration; a class that the file has no line for has the
            label None, and lines beyond the last class are not used. ``ascend-infer check`` and ``infer`` warn of
            a file with another number of lines than there are classes.

        Raises
        ------
        InvalidInputError
            No such output, or not one row of scores per sample.
        """
        from ascend_infer.image import top_k

        if name is None:
            if len(self._arrays) != 1:
                raise self._no_output(name)
            name = next(iter(self._arrays))
        scores = self._arrays.get(name)
        if scores is None:
            raise self._no_output(name)
        rows = not self._request.single and (self._origin.max_batch_size > 0 or scores.ndim > 1)
        classes = math.prod(scores.shape[1:]) if rows else scores.size
        if classes == 0 or scores.dtype.kind not in "biufV":
            raise InvalidInputError(
                f"output {name!r} holds {scores.dtype} of shape {list(scores.shape)}: no scores to rank",
                input=name,
                expected="one row of numbers per sample",
                got=f"{scores.dtype}{list(scores.shape)}",
            )
        flat = scores.reshape(-1 if scores.size else 0, classes) if rows else scores.reshape(1, -1)
        labels = self._origin.labels(name)
        by_index = None if labels is None else dict(enumerate(labels))
        ranked = top_k(flat, k=k, labels=by_index, softmax=softmax)
        return ranked if rows else ranked[0]

    def _no_output(self, name: str | None) -> InvalidInputError:
        listed = ", ".join(repr(item) for item in self._arrays)
        got = "no name" if name is None else repr(name)
        return InvalidInputError(
            f"top_k of model {self.model!r}: got {got}, expected one of the outputs {listed}",
            input=name,
            expected=listed,
            got=got,
        )

    def __repr__(self) -> str:
        outputs = ", ".join(f"{name}: {a.dtype}{list(a.shape)}" for name, a in self._arrays.items())
        version = "" if self.version is None else f" version {self.version}"
        return (
            f"<InferResult of {self.model}{version} on {self.device}: {outputs}; "
            f"{self.timing.total_ns / 1e6:.3g} ms>"
        )

    def _repr_html_(self) -> str:
        from ascend_infer.html import result_html

        return result_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        labels = {name: found for name in self._arrays if (found := self._origin.labels(name)) is not None}
        origin = ResultOrigin(self.model, self.version, self.device, labels.get, self._origin.max_batch_size)
        request = self._request
        kept = KeptRequest(request.request_id, request.single, tuple(request.times))
        return InferResult, (self._arrays, origin, kept)
