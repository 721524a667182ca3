"""Inputs and outputs as a configuration states them. Field names are those of Triton's model_config.proto."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ascend_infer.types import DataType

__all__ = [
    "BatchInput",
    "BatchInputKind",
    "BatchOutput",
    "BatchOutputKind",
    "ModelInput",
    "ModelInputFormat",
    "ModelOutput",
    "ModelTensorReshape",
]


class ModelInputFormat(StrEnum):
    """How an input's three dims are ordered."""

    FORMAT_NONE = "FORMAT_NONE"
    FORMAT_NHWC = "FORMAT_NHWC"
    FORMAT_NCHW = "FORMAT_NCHW"


class BatchInputKind(StrEnum):
    """What a batch input tells the model of the batch it is part of."""

    BATCH_ELEMENT_COUNT = "BATCH_ELEMENT_COUNT"
    BATCH_ACCUMULATED_ELEMENT_COUNT = "BATCH_ACCUMULATED_ELEMENT_COUNT"
    BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO = "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO"
    BATCH_MAX_ELEMENT_COUNT_AS_SHAPE = "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE"
    BATCH_ITEM_SHAPE = "BATCH_ITEM_SHAPE"
    BATCH_ITEM_SHAPE_FLATTEN = "BATCH_ITEM_SHAPE_FLATTEN"


class BatchOutputKind(StrEnum):
    """How a batch output is cut into its requests' parts."""

    BATCH_SCATTER_WITH_INPUT_SHAPE = "BATCH_SCATTER_WITH_INPUT_SHAPE"


@dataclass(frozen=True, slots=True)
class ModelTensorReshape:
    """The shape the model sees where it differs from ``dims``; an empty one is a scalar per request."""

    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelInput:
    """One input as a request brings it.

    Attributes
    ----------
    data_type : DataType or None
        None where the configuration leaves it to the model file.
    dims : tuple of int
        Without the batch dimension when ``max_batch_size > 0``; -1 where any size will do; ``()`` where it
        is left to the model file.
    """

    name: str = ""
    data_type: DataType | None = None
    format: ModelInputFormat = ModelInputFormat.FORMAT_NONE
    dims: tuple[int, ...] = ()
    reshape: ModelTensorReshape | None = None
    is_shape_tensor: bool = False
    allow_ragged_batch: bool = False
    optional: bool = False
    is_non_linear_format_io: bool = False


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """One output as a result holds it, see `ModelInput`; labels are relative to the model directory."""

    name: str = ""
    data_type: DataType | None = None
    dims: tuple[int, ...] = ()
    reshape: ModelTensorReshape | None = None
    label_filename: str = ""
    is_shape_tensor: bool = False
    is_non_linear_format_io: bool = False


@dataclass(frozen=True, slots=True)
class BatchInput:
    """A tensor that the scheduler makes for the model out of the shapes of a batch's requests."""

    kind: BatchInputKind = BatchInputKind.BATCH_ELEMENT_COUNT
    target_name: tuple[str, ...] = ()
    data_type: DataType | None = None
    source_input: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """Outputs that are cut by the shapes of an input rather than by rows."""

    target_name: tuple[str, ...] = ()
    kind: BatchOutputKind = BatchOutputKind.BATCH_SCATTER_WITH_INPUT_SHAPE
    source_input: tuple[str, ...] = ()
