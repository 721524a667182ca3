"""One input or output as a caller meets it, in words and as JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ascend_infer.types import DataType

__all__ = ["Tensor", "dims_text"]

# Names that exporters make up, and that tell a reader nothing.
_MADE_UP = re.compile(r"unk__\d+|.*DynamicDimension.*|.*_dim_\d+|dim_?\d+|dynamic_axes_\d+|None|\?|-1")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the model's signature.

    Attributes
    ----------
    name : str
    model_name : str
        The model file's own name, where the configuration has another one (for .om: ACL's full name).
    dtype : DataType or None
        None where neither configuration nor model says.
    dims : tuple of int
        Without the batch; -1 where any size will do, (-2,) when not even the rank is known.
    max_batch_size : int
        0: ``dims`` are the whole shape.
    dim_names : tuple of str or None
        One a dimension of ``dims``; may be empty.
    optional : bool
    labels : (str, int) or None
        Label file and how many labels it has.
    remark : str
        What else there is to know: what AIPP takes.
    """

    name: str
    model_name: str
    dtype: DataType | None
    dims: tuple[int, ...]
    max_batch_size: int = 0
    dim_names: tuple[str | None, ...] = ()
    optional: bool = False
    labels: tuple[str, int] | None = None
    remark: str = ""

    @property
    def shape_text(self) -> str:
        """``"batch of up to 8, 3x224x224"``."""
        inner = dims_text(self.dims, self.dim_names)
        if not self.max_batch_size:
            return inner
        return f"batch of up to {self.max_batch_size}, {inner}"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "name": self.name,
            "model_name": self.model_name,
            "dtype": None if self.dtype is None else self.dtype.value,
            "dims": list(self.dims),
            "shape": [-1, *self.dims] if self.max_batch_size else list(self.dims),
            "shape_text": self.shape_text,
            "dim_names": list(self.dim_names),
            "optional": self.optional,
            "labels": None if self.labels is None else {"file": self.labels[0], "count": self.labels[1]},
            "remark": self.remark,
        }


def dims_text(dims: tuple[int, ...], names: tuple[str | None, ...] = ()) -> str:
    """Return dims for a reader: ``"3x224x224"``, ``"any (sequence) x 384"``, ``"one value"``."""
    if dims == (-2,):
        return "any shape"
    if not dims:
        return "one value"
    if -1 not in dims:
        return "x".join(map(str, dims))
    known = names if len(names) == len(dims) else (None,) * len(dims)
    pieces = []
    for dim, name in zip(dims, known, strict=True):
        if dim != -1:
            pieces.append(str(dim))
        elif name and not _MADE_UP.fullmatch(name):
            pieces.append(f"any ({name})")
        else:
            pieces.append("any")
    return " x ".join(pieces)
