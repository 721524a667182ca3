"""Pictures given for an input, prepared as its model wants them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascend_infer.cli.feeding.options import FeedOptions
from ascend_infer.cli.printing import note
from ascend_infer.config import ModelConfig
from ascend_infer.errors import ImageError, InvalidInputError, InvalidOptionError
from ascend_infer.types import DataType, TensorSpec

__all__ = ["PARAMETER", "prepare_pictures"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The configuration's parameter that says how pictures are prepared: a preset's name or its fields as JSON.
PARAMETER = "preprocess"


_OTHER_PRESETS = {
    DataType.UINT8: "--preset raw keeps pixels as they are",
    DataType.FP32: "presets such as --preset imagenet make floats",
    DataType.FP16: "presets such as --preset imagenet make floats",
}


def prepare_pictures(
    paths: Sequence[str], tensor: TensorSpec, config: ModelConfig, options: FeedOptions
) -> Array:
    """Return a batch with one row for each picture.

    What preset and configuration leave open follows from the input: its height and width where they are fixed,
    its layout, float16.

    Parameters
    ----------
    paths : sequence of str
    tensor : TensorSpec
        The input, batch included.
    config : ModelConfig
    options : FeedOptions
        Of which ``preset`` (a preset's name or JSON; otherwise the configuration's parameter ``preprocess``),
        ``size`` (``"224"`` or ``"224x320"``, height first) and ``max_pixels``.

    Raises
    ------
    InvalidOptionError
        No preset, or one that does not exist.
    InvalidInputError
        What comes out is of another data type than the input.
    ImageError
    """
    from ascend_infer import image

    base, stated = _preset(options.preset, tensor, config, paths[0])
    overrides: dict[str, Any] = {}
    inferred = _layout(tensor)
    if options.size is not None:
        overrides["size"] = _size(options.size)
    elif "size" not in stated and inferred is not None and min(inferred[1]) > 0:
        overrides["size"] = inferred[1]
    if "layout" not in stated and inferred is not None:
        overrides["layout"] = inferred[0]
    if "dtype" not in stated and tensor.dtype is DataType.FP16:
        overrides["dtype"] = "float16"
    chosen = image.preset(base, **overrides)
    limit = image.MAX_PIXELS if options.max_pixels is None else options.max_pixels
    try:
        batch = image.prepare(list(paths), chosen, max_pixels=limit)
    except ImageError as error:
        # What the library advises in Python is said in the command line's own words.
        text = str(error).replace("raise max_pixels (None: no limit)", "give a larger --max-pixels")
        raise ImageError(text, source=error.source) from error
    note(
        f"{', '.join(paths[:3])}{', ...' if len(paths) > 3 else ''} -> {tensor.name}: preset {chosen.name}, "
        f"{chosen.size[0]}x{chosen.size[1]} {chosen.channels} {chosen.layout} {chosen.dtype}"
    )
    if DataType.from_numpy(batch.dtype) is not tensor.dtype:
        hint = _OTHER_PRESETS.get(tensor.dtype, "pictures cannot become that: give an array (.npy)")
        raise InvalidInputError(
            f"input {tensor.name!r}: got a picture as {batch.dtype} (preset {chosen.name}), expected "
            f"{tensor.dtype}; {hint}",
            input=tensor.name,
            expected=str(tensor.dtype),
            got=str(batch.dtype),
        )
    # A model whose declared shape has no batch takes one picture as it is.
    return batch[0] if len(batch) == 1 and len(tensor.shape) == batch.ndim - 1 else batch


def _preset(
    preset: str | None, tensor: TensorSpec, config: ModelConfig, path: str
) -> tuple[str | Mapping[str, Any], frozenset[str]]:
    """Return the preset and which of its fields were stated for this model."""
    from ascend_infer.image import PRESETS

    text = preset if preset is not None else config.parameter(PARAMETER).strip()
    if not text:
        raise InvalidOptionError(
            f"input {tensor.name!r} gets a picture, {path}, and nothing says how the model wants it: give --preset "
            f"NAME, one of {', '.join(PRESETS)}, or state it in config.pbtxt: "
            f'parameters {{ key: "{PARAMETER}" value {{ string_value: "imagenet" }} }}',
            option="preset",
        )
    if not text.startswith("{"):
        return text, frozenset()
    where = "--preset" if preset is not None else f"parameter {PARAMETER!r} of the configuration"
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOptionError(
            f"{where}: got {text[:60]!r}, which is no JSON ({error}); expected a preset's name or its fields",
            option="preset",
            got=text,
        ) from error
    return fields, frozenset(fields)


def _layout(tensor: TensorSpec) -> tuple[str, tuple[int, int]] | None:
    """Return layout, and height and width, of an input that takes pictures; None where it cannot be told."""
    dims = tensor.shape[-3:]
    if len(dims) != 3:
        return None
    if dims[0] in (1, 3):
        return "NCHW", (dims[1], dims[2])
    return ("NHWC", (dims[0], dims[1])) if dims[2] in (1, 3) else None


def _size(text: str) -> int | tuple[int, int]:
    pieces = text.replace(",", "x").split("x")
    if not all(piece.isascii() and piece.isdigit() and len(piece) < 7 for piece in pieces) or len(pieces) > 2:
        raise InvalidOptionError(
            f"--size: got {text!r}, expected a number such as 224, or height x width such as 224x320",
            option="size",
            got=text,
        )
    return int(pieces[0]) if len(pieces) == 1 else (int(pieces[0]), int(pieces[1]))
