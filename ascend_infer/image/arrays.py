"""Pictures that come as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from ascend_infer.errors import ImageError
from ascend_infer.image.pixels import unit_to_bytes, words_to_bytes

__all__ = ["as_array", "image_from_array"]

_SHAPES = {
    "HWC": "(h, w), (h, w, 1), (h, w, 3) or (h, w, 4)",
    "CHW": "(h, w), (1, h, w), (3, h, w) or (4, h, w)",
}


def as_array(source: Any, name: str) -> np.ndarray:
    """Look at the source as a numpy array, without a copy where that is possible."""
    try:
        return np.asarray(source)
    except Exception as error:
        raise ImageError(
            f"{name}: numpy cannot read it ({error}); give an array in host memory", source=name
        ) from error


def image_from_array(array: np.ndarray, layout: str, name: str) -> Image.Image:
    """Return a PIL image (L, RGB or RGBA) of an array's pixels; it may share the array's memory.

    Parameters
    ----------
    array : ndarray
        Grey, RGB or RGBA; uint8 0..255, uint16 0..65535, float 0..1 or bool.
    layout : {"HWC", "CHW"}
        Where the channels are, never guessed.
    name : str
        For errors.
    """
    if layout == "CHW" and array.ndim == 3:
        array = array.transpose(1, 2, 0)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))):
        raise ImageError(f"{name}: {_wrong_shape(array, layout)}", source=name)
    if array.size == 0:
        raise ImageError(f"{name}: it has no pixels", source=name)
    return Image.fromarray(np.ascontiguousarray(_as_bytes(array, name)))


def _as_bytes(array: np.ndarray, name: str) -> np.ndarray:
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype == np.uint8:
        return array
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype == np.uint16:
        return words_to_bytes(array, name)
    if array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        return unit_to_bytes(array, name)
    raise ImageError(
        f"{name}: pixels of dtype {array.dtype} have no agreed range; give uint8 (0..255), "
        "uint16 (0..65535), float (0..1) or bool, for instance array.astype('uint8')",
        source=name,
    )


def _wrong_shape(array: np.ndarray, layout: str) -> str:
    expected = f"expected {_SHAPES[layout]}"
    if array.ndim == 3:
        # In the other layout it might be a picture; the array was turned above when the layout is CHW.
        shape = array.shape if layout == "HWC" else array.transpose(2, 0, 1).shape
        channels = shape[0] if layout == "HWC" else shape[2]
        if channels in (1, 3, 4):
            other = "CHW" if layout == "HWC" else "HWC"
            return f"{expected}; if the channels stand {'first' if other == 'CHW' else 'last'}, \
say source_layout={other!r}"
    if array.ndim == 4:
        return f"{expected}; this is a batch: prepare() takes it, load() takes one picture"
    return f"{expected} as one picture"
