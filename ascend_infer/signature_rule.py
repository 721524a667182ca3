"""One input or output as the user sees it and as the model has it."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_infer.types import DataType

__all__ = ["InputRule", "OutputRule"]


@dataclass(slots=True)
class InputRule:
    """One input as the user gives it and as the model takes it.

    Attributes
    ----------
    name, model_name : str
        The configuration's name and the model file's.
    dtype : DataType
    dims : tuple of int
        Without the batch; -1 where any size will do, (-2,) when the rank is not known.
    reshape : tuple of int or None
        Dims the model takes, where the configuration's ``reshape`` states other ones.
    optional : bool
    """

    name: str
    model_name: str
    dtype: DataType
    dims: tuple[int, ...]
    reshape: tuple[int, ...] | None = None
    optional: bool = False


@dataclass(slots=True)
class OutputRule:
    """One output; attributes as in ``InputRule``."""

    name: str
    model_name: str
    dtype: DataType
    dims: tuple[int, ...]
    reshape: tuple[int, ...] | None = None
    label_filename: str = ""
