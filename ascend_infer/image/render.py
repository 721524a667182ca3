"""A picture's pixels into one row of a batch: scaled, placed, normalised."""

from __future__ import annotations

import numpy as np
from PIL import Image

from ascend_infer.image.placement import Placement
from ascend_infer.image.recipe import Preset

__all__ = ["render", "write_row"]

# Scaling a strip of 60000x1 until its shorter side fits would take gigabytes, of which a crop is kept: above
# this many pixels only the part that is kept is worked out (the same up to rounding in the filter's weights).
_WHOLE_SCALED_PIXELS = 1 << 24


def render(rgb: Image.Image, placement: Placement, preset: Preset) -> Image.Image:
    """Return the placed picture, ``preset.size`` large, in mode RGB; the given one is not changed."""
    resampling = Image.Resampling[preset.filter.upper()]
    height, width = placement.size
    left, top = placement.offset
    if placement.box != (0, 0, *rgb.size):
        rgb = _cropped(rgb, placement.box)
    columns, rows = placement.scaled
    if columns * rows > _WHOLE_SCALED_PIXELS and left <= 0 and top <= 0:
        x, y = rgb.width / columns, rgb.height / rows
        part = (-left * x, -top * y, min((width - left) * x, rgb.width), min((height - top) * y, rgb.height))
        return rgb.resize((width, height), resampling, box=part)
    if rgb.size != placement.scaled:
        rgb = rgb.resize(placement.scaled, resampling)
    if placement.scaled == (width, height):
        return rgb
    if left <= 0 and top <= 0:
        return rgb.crop((-left, -top, width - left, height - top))
    framed = Image.new("RGB", (width, height), preset.pad_color)
    framed.paste(rgb, (left, top))
    return framed


def _cropped(image: Image.Image, box: tuple[int, int, int, int]) -> Image.Image:
    size = box[2] - box[0], box[3] - box[1]
    if Image.MAX_IMAGE_PIXELS is None or size[0] * size[1] <= Image.MAX_IMAGE_PIXELS:
        return image.crop(box)
    # crop() warns above the process's limit; this copies the same pixels and does not.
    return image.transform(size, Image.Transform.EXTENT, box, Image.Resampling.NEAREST)


def write_row(placed: Image.Image, preset: Preset, row: np.ndarray) -> None:
    """Normalise into ``row``, of shape ``preset.shape`` and its dtype.

    Notes
    -----
    Each channel is one look-up in a table of 256 entries. For float32 two passes of arithmetic take about
    half to two thirds of the time (93 against 169 us for 224x224), for float16 three to four times as long;
    the table's values are correctly rounded and the same in every layout, so it is used for all.
    """
    if preset.channels == "L":
        placed = placed.convert("L")
    pixels = np.asarray(placed).reshape(placed.height, placed.width, -1)
    if preset.channels == "BGR":
        pixels = pixels[:, :, ::-1]
    planes = row if preset.layout == "NCHW" else row.transpose(2, 0, 1)
    if preset.dtype == "uint8":
        planes[...] = pixels.transpose(2, 0, 1)
        return
    for channel, entries in enumerate(preset.table()):
        if preset.layout == "NCHW":
            # mode="raise" would go through a buffer; a uint8 cannot be out of bounds.
            np.take(entries, pixels[:, :, channel], out=planes[channel], mode="clip")
        else:
            planes[channel] = np.take(entries, pixels[:, :, channel], mode="clip")
