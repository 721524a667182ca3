"""What scoring needs of a session, and how its tensors count rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ascend_infer.config import ModelConfig
from ascend_infer.gears import GearExplanation
from ascend_infer.result import InferResult
from ascend_infer.types import ModelInstance, TensorSpec

__all__ = ["RowShape", "ScoredSession", "row_shape"]


class ScoredSession(Protocol):
    """The part of :class:`ascend_infer.Session` that scoring uses."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def version(self) -> int | None: ...  # noqa: D102
    @property
    def device(self) -> str: ...  # noqa: D102
    @property
    def inputs(self) -> tuple[TensorSpec, ...]: ...  # noqa: D102
    @property
    def outputs(self) -> tuple[TensorSpec, ...]: ...  # noqa: D102
    @property
    def instances(self) -> tuple[ModelInstance, ...]: ...  # noqa: D102
    @property
    def config(self) -> ModelConfig: ...  # noqa: D102
    @property
    def details(self) -> Mapping[str, str]: ...  # noqa: D102
    def changed_files(self) -> Mapping[str, str]: ...  # noqa: D102
    def infer(  # noqa: D102
        self, inputs: Any = None, outputs: Sequence[str] | None = None, *, cast: Any = None
    ) -> InferResult: ...
    def explain(self, **shapes: Sequence[int]) -> GearExplanation: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class RowShape:
    """How a model's arrays count rows.

    Attributes
    ----------
    leading : bool
        The first dimension of every input and output counts rows.
    limit : int or None
        The most rows of a run; None where the model does not say.
    """

    leading: bool
    limit: int | None


def row_shape(session: ScoredSession) -> RowShape:
    """Tell how a model's arrays count rows: as its configuration says, else by the dimensions themselves.

    Without a ``max_batch_size``, a first dimension that is 1 in all inputs and outputs counts rows, and so does one
    that is open in all of them in a bare model file, which cannot say so; any other model takes one row as a whole.
    """
    limit = session.config.max_batch_size
    if limit > 0:
        return RowShape(True, limit)
    first = {tensor.shape[0] if tensor.shape else 0 for tensor in (*session.inputs, *session.outputs)}
    if first == {-1} and session.version is None:
        return RowShape(True, None)
    return RowShape(first == {1}, 1)
