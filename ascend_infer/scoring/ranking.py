"""From a result to the columns of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ascend_infer.errors import AscendInferError, InvalidOptionError
from ascend_infer.image import top_k
from ascend_infer.result import InferResult
from ascend_infer.scoring.model import RowShape, ScoredSession
from ascend_infer.types import DataType, TensorSpec

__all__ = ["Column", "OutputColumns", "Postprocess"]

Postprocess = Callable[[dict[str, Any]], Any]
_DEFAULT_RANKS = 5
#: Names that every output has for its own.
_TAKEN = ("id", "error")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the output.

    Attributes
    ----------
    name : str
    dtype : DataType
        BYTES for texts.
    shape : tuple of int or None
        ``()`` for single values; -1 where any size will do; None where the rank is not known.
    """

    name: str
    dtype: DataType
    shape: tuple[int, ...] | None = ()


class OutputColumns:
    """What of a model's outputs goes into a row: the best labels and their scores, or the values.

    Parameters
    ----------
    session : Session
    shape : RowShape
    outputs : sequence of str or None
        The outputs that are wanted.
    ranks : int or None
        How many labels; None ranks outputs with labels, five deep; 0 ranks nothing.
    softmax : bool
    labels : sequence of str or None
        In place of the configuration's.
    postprocess : callable or None
        From one row's arrays by output to values by column, or one value.

    Attributes
    ----------
    columns : tuple of Column or None
        None where ``postprocess`` decides.

    Raises
    ------
    InvalidOptionError
        No such output, or it holds no scores to rank.
    """

    def __init__(
        self,
        session: ScoredSession,
        shape: RowShape,
        outputs: Sequence[str] | None,
        *,
        ranks: int | None,
        softmax: bool,
        labels: Sequence[str] | None,
        postprocess: Postprocess | None,
    ) -> None:
        known = {tensor.name: tensor for tensor in session.outputs}
        for name in outputs or ():
            if name not in known:
                raise InvalidOptionError(
                    f"outputs: got {name!r}, expected some of {', '.join(known)}", option="outputs", got=name
                )
        self.names = list(outputs or known)
        #: What to ask the session for: where it is all outputs, without a choice, which is the quick way.
        self.asked = list(outputs) if outputs else None
        self._leading = shape.leading
        self._softmax = softmax
        self._labels = labels
        self._by_index: dict[str, dict[int, str]] = {}  # labels of each output
        self._postprocess = postprocess
        specs = [known[name] for name in self.names]
        self._dims = {tensor.name: _dims(tensor, shape) for tensor in specs}
        self._ranks = {} if postprocess else self._ranked(session, specs, ranks, labels)
        if (softmax or labels is not None) and not self._ranks:
            option = "softmax" if softmax else "labels"
            raise InvalidOptionError(f"{option}: no output is ranked; give top_k", option=option)
        self.columns = None if postprocess else tuple(self._columns(specs))

    def _ranked(
        self,
        session: ScoredSession,
        specs: Sequence[TensorSpec],
        ranks: int | None,
        labels: Sequence[str] | None,
    ) -> dict[str, int]:
        if ranks == 0:
            return {}
        found = {}
        for tensor in specs:
            stated = session.config.output_by_name(tensor.name)
            labelled = labels is not None or (stated is not None and bool(stated.label_filename))
            if (labelled or ranks is not None) and self._holds_scores(tensor):
                classes = prod(self._dims[tensor.name] or (-1,))
                count = ranks or _DEFAULT_RANKS
                found[tensor.name] = min(count, classes) if classes > 0 else count
        if ranks is not None and not found:
            listed = ", ".join(map(str, specs))
            raise InvalidOptionError(
                f"top_k={ranks}: got the outputs {listed}, expected one with a row of scores",
                option="top_k",
                got=ranks,
            )
        return found

    def _holds_scores(self, tensor: TensorSpec) -> bool:
        dims = self._dims[tensor.name]
        wide = dims is None or sum(size != 1 for size in dims) == 1
        return wide and tensor.dtype.value[:2] in ("FP", "BF", "IN", "UI")

    def _columns(self, specs: Sequence[TensorSpec]) -> list[Column]:
        found: list[Column] = []
        many = len(specs) > 1
        for tensor in specs:
            count = self._ranks.get(tensor.name)
            if count is None:
                name = f"output_{tensor.name}" if tensor.name in _TAKEN else tensor.name
                found.append(Column(name, tensor.dtype, self._dims[tensor.name]))
                continue
            prefix = f"{tensor.name}_" if many else ""
            score = tensor.dtype if tensor.dtype in (DataType.FP64, DataType.FP32) else DataType.FP32
            if tensor.dtype.value[:2] in ("IN", "UI"):
                score = DataType.FP64
            for rank in range(1, count + 1):
                found.append(Column(f"{prefix}label_{rank}", DataType.BYTES))
                found.append(Column(f"{prefix}score_{rank}", score))
        return found

    def rows(self, result: InferResult, count: int) -> list[dict[str, Any] | str]:
        """Return each row's values by column, or what was wrong with it.

        Parameters
        ----------
        result : InferResult
        count : int
            How many rows were fed.
        """
        arrays = {name: result[name] if self._leading else result[name][None] for name in self.names}
        if self._postprocess is not None:
            return [self._own({name: array[row] for name, array in arrays.items()}) for row in range(count)]
        rows: list[dict[str, Any] | str] = [{} for _ in range(count)]
        columns = iter(self.columns or ())
        for name, array in arrays.items():
            depth = self._ranks.get(name)
            if depth is None:
                column = next(columns).name
                for row in range(count):
                    rows[row][column] = array[row]  # type: ignore[index]  # no error among them yet
                continue
            taken = [next(columns).name for _ in range(2 * depth)]
            for row, ranked in enumerate(self._best(name, array, depth, result)):
                values = rows[row]
                for rank, (label, score) in enumerate(ranked):
                    values[taken[2 * rank]] = label  # type: ignore[index]
                    values[taken[2 * rank + 1]] = score  # type: ignore[index]
        return rows

    def _best(self, name: str, array: Any, depth: int, result: InferResult) -> list[list[tuple[str, float]]]:
        if name not in self._by_index:
            labels = self._labels if self._labels is not None else result.labels(name)
            self._by_index[name] = {} if labels is None else dict(enumerate(labels))
        flat = array.reshape(len(array), -1)
        ranked = top_k(flat, k=depth, labels=self._by_index[name], softmax=self._softmax)
        return [
            [(str(item.index) if item.label is None else item.label, item.score) for item in row]
            for row in ranked
        ]

    def _own(self, arrays: dict[str, Any]) -> dict[str, Any] | str:
        assert self._postprocess is not None
        try:
            made = self._postprocess(arrays)
        except AscendInferError as error:
            return f"postprocess: {error}"
        except Exception as error:
            return f"postprocess: {type(error).__name__}: {error}"
        values = dict(made) if isinstance(made, Mapping) else {"result": made}
        return {
            (f"output_{name}" if name in _TAKEN else str(name)): _plain(item) for name, item in values.items()
        }


def _plain(value: Any) -> Any:
    if (
        isinstance(value, np.generic) and value.dtype.kind not in "mM"
    ):  # a time of nanoseconds would be a number
        return value.item()
    return np.asarray(value) if hasattr(value, "__array__") and not isinstance(value, np.ndarray) else value


def _dims(tensor: TensorSpec, shape: RowShape) -> tuple[int, ...] | None:
    if tensor.shape == (-2,):
        return None
    return tensor.shape[1:] if shape.leading else tensor.shape
