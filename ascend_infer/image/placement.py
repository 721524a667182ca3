"""Where a picture's pixels go: arithmetic on sizes alone, no pixel is touched here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["POLICIES", "Placement", "Policy", "place"]

Policy = Literal["center_crop", "crop_resize", "letterbox", "stretch"]
POLICIES: tuple[Policy, ...] = ("center_crop", "crop_resize", "letterbox", "stretch")


@dataclass(frozen=True, slots=True)
class Placement:
    """The part of a picture that is used, the size it is scaled to, and where that lies in the input.

    All in pixels, x to the right, y down.

    Attributes
    ----------
    box : (int, int, int, int)
        Left, top, right, bottom in the picture: what is scaled.
    scaled : (int, int)
        Width and height that the box is scaled to.
    offset : (int, int)
        x and y of the scaled box's upper left corner in the input; negative where it is cropped.
    size : (int, int)
        Height and width of the input.
    """

    box: tuple[int, int, int, int]
    scaled: tuple[int, int]
    offset: tuple[int, int]
    size: tuple[int, int]

    def to_source(self, points: ArrayLike) -> NDArray[np.float64]:
        """Map places in the input back into the picture.

        Parameters
        ----------
        points : array_like, (..., 2 k)
            x, y, x, y ... in the last axis: points, or boxes (left, top, right, bottom). Pixels of the input.

        Returns
        -------
        ndarray of float64, same shape
            Pixels of the picture; outside it for places in the padding.
        """
        given: NDArray[np.float64] = np.asarray(points, dtype=np.float64)
        pairs = given.reshape(-1, 2)
        left, top, right, bottom = self.box
        zoom = np.array([(right - left) / self.scaled[0], (bottom - top) / self.scaled[1]])
        result: NDArray[np.float64] = (pairs - self.offset) * zoom + (left, top)
        return result.reshape(given.shape)


def place(
    width: int, height: int, size: tuple[int, int], policy: Policy, crop_padding: int = 32
) -> Placement:
    """Work out where a picture goes.

    Parameters
    ----------
    width, height : int
        Of the upright picture, at least 1.
    size : (int, int)
        Height and width of the input.
    policy : {"center_crop", "crop_resize", "letterbox", "stretch"}
        See :class:`~ascend_infer.image.Preset`.
    crop_padding : int
        Pixels by which the scaled picture is larger than the crop; for the two policies that crop.

    Notes
    -----
    ``center_crop`` rounds as torchvision's Resize and CenterCrop do, ``crop_resize`` as the EfficientNet
    evaluation recipe: whole numbers are the same, so the pixels are.
    """
    rows, columns = size
    whole = (0, 0, width, height)
    if policy == "stretch":
        return Placement(whole, (columns, rows), (0, 0), size)
    if policy == "letterbox":
        if width * rows >= height * columns:
            scaled = columns, max(1, round(height * columns / width))
        else:
            scaled = max(1, round(width * rows / height)), rows
        return Placement(whole, scaled, ((columns - scaled[0]) // 2, (rows - scaled[1]) // 2), size)
    full_columns, full_rows = columns + crop_padding, rows + crop_padding
    wide = width * full_rows >= height * full_columns
    if policy == "center_crop":
        tall_enough, wide_enough = full_columns * height // width, full_rows * width // height
        scaled = (wide_enough, full_rows) if wide else (full_columns, tall_enough)
        # Python rounds halves to even, and so does the recipe.
        offset = -round((scaled[0] - columns) / 2), -round((scaled[1] - rows) / 2)
        return Placement(whole, scaled, offset, size)
    along, full = (height, full_rows) if wide else (width, full_columns)
    taken = max(1, columns * along // full), max(1, rows * along // full)
    # The recipe leaves the odd pixel on the left and above.
    left, top = (width - taken[0] + 1) // 2, (height - taken[1] + 1) // 2
    return Placement((left, top, left + taken[0], top + taken[1]), (columns, rows), (0, 0), size)
