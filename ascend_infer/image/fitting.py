"""A preset for one model: what it leaves open follows from the model's input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.image.presets import PRESETS, preset
from ascend_infer.image.recipe import Preset
from ascend_infer.shortened import shortened_repr
from ascend_infer.types import DataType, TensorSpec

__all__ = ["PARAMETER", "fit_preset", "no_preset", "stated_preset"]

#: The configuration's parameter that says how pictures are prepared: a preset's name or its fields as JSON.
PARAMETER = "preprocess"


def stated_preset(text: str, where: str) -> str | Mapping[str, Any]:
    """Return a preset that was written down: its name, or its fields as JSON.

    Parameters
    ----------
    text : str
    where : str
        What it was written in, for the error.

    Raises
    ------
    InvalidOptionError
        It is no JSON.
    """
    if not text.startswith("{"):
        return text
    try:
        fields: Mapping[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOptionError(
            f"{where}: got {shortened_repr(text)}, which is no JSON ({error}); expected a preset's name or its fields",
            option="preset",
            got=text,
        ) from error
    return fields


def fit_preset(
    given: str | Preset | Mapping[str, Any], tensor: TensorSpec, size: int | tuple[int, int] | None = None
) -> Preset:
    """Return a preset as an input takes it: its height and width where they are fixed, its layout, float16.

    What a mapping states, or a ``Preset``, is left as it is.

    Parameters
    ----------
    given : str, Preset or mapping
        See :func:`ascend_infer.image.preset`.
    tensor : TensorSpec
        The input.
    size : int or (int, int), optional
        Goes before what is given and what the input says.

    Raises
    ------
    InvalidOptionError
    """
    stated = frozenset(given) if isinstance(given, Mapping) else frozenset[str]()
    overrides: dict[str, Any] = {}
    inferred = None if isinstance(given, Preset) else _layout(tensor)
    if size is not None:
        overrides["size"] = size
    elif "size" not in stated and inferred is not None and min(inferred[1]) > 0:
        overrides["size"] = inferred[1]
    if "layout" not in stated and inferred is not None:
        overrides["layout"] = inferred[0]
    if "dtype" not in stated and tensor.dtype is DataType.FP16 and not isinstance(given, Preset):
        overrides["dtype"] = "float16"
    return preset(given, **overrides)


def no_preset(name: str, picture: str, how: str) -> InvalidOptionError:
    """Return the error for a picture that nothing says how to prepare.

    Parameters
    ----------
    name : str
        The input's.
    picture : str
    how : str
        The option that names a preset.
    """
    stated = f'parameters {{ key: "{PARAMETER}" value {{ string_value: "imagenet" }} }}'
    return InvalidOptionError(
        f"input {name!r} gets a picture, {picture}, and nothing says how the model wants it: give {how}, one of "
        f"{', '.join(PRESETS)}, or state it in config.pbtxt: {stated}",
        option="preset",
    )


def _layout(tensor: TensorSpec) -> tuple[str, tuple[int, int]] | None:
    """Return layout, and height and width, of an input that takes pictures; None where it cannot be told."""
    dims = tensor.shape[-3:]
    if len(dims) != 3:
        return None
    if dims[0] in (1, 3):
        return "NCHW", (dims[1], dims[2])
    return ("NHWC", (dims[0], dims[1])) if dims[2] in (1, 3) else None
