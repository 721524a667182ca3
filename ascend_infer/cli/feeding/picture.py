"""Pictures given for an input, prepared as its model wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascend_infer.cli.feeding.options import FeedOptions
from ascend_infer.cli.printing import note
from ascend_infer.config import ModelConfig
from ascend_infer.errors import ImageError, InvalidInputError, InvalidOptionError
from ascend_infer.image.fitting import PARAMETER, fit_preset, no_preset, stated_preset
from ascend_infer.types import DataType, TensorSpec

__all__ = ["picture_size", "prepare_pictures"]

Array = np.ndarray[Any, np.dtype[Any]]

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

    chosen = fit_preset(
        _preset(options.preset, tensor, config, paths[0]),
        tensor,
        None if options.size is None else picture_size(options.size),
    )
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
) -> str | Mapping[str, Any]:
    text = preset if preset is not None else config.parameter(PARAMETER).strip()
    if not text:
        raise no_preset(tensor.name, path, "--preset NAME")
    where = "--preset" if preset is not None else f"parameter {PARAMETER!r} of the configuration"
    return stated_preset(text, where)


def picture_size(text: str) -> int | tuple[int, int]:
    """Return the size that ``--size`` says: a side, or height and width."""
    pieces = text.replace(",", "x").split("x")
    if not all(piece.isascii() and piece.isdigit() and len(piece) < 7 for piece in pieces) or len(pieces) > 2:
        raise InvalidOptionError(
            f"--size: got {text!r}, expected a number such as 224, or height x width such as 224x320",
            option="size",
            got=text,
        )
    return int(pieces[0]) if len(pieces) == 1 else (int(pieces[0]), int(pieces[1]))
