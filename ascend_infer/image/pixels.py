"""From whatever a picture's pixels are to upright 8-bit RGB."""

from __future__ import annotations

import numpy as np
from PIL import Image

from ascend_infer.errors import ImageError
from ascend_infer.image.color import Color

__all__ = ["orientation", "swaps_axes", "to_rgb", "unit_to_bytes", "words_to_bytes"]

_EXIF_ORIENTATION = 0x0112
# EXIF 2.3, tag Orientation: what has to be done to a picture stored so, for it to stand upright.
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_SWAPPING = frozenset(_UPRIGHT[code] for code in (5, 6, 7, 8))


def orientation(image: Image.Image) -> Image.Transpose | None:
    """Return the turn that makes the picture stand upright, None when it does or does not say.

    EXIF that cannot be read counts as absent: the picture itself may be well.
    """
    try:
        return _UPRIGHT.get(image.getexif().get(_EXIF_ORIENTATION, 1))
    except Exception:
        return None


def swaps_axes(turn: Image.Transpose | None) -> bool:
    """Tell whether the turn makes the height of the width."""
    return turn in _SWAPPING


def to_rgb(image: Image.Image, background: Color | None, name: str) -> Image.Image:
    """Return the picture as 8-bit RGB, not turned; the same object when it is that already.

    Parameters
    ----------
    image : PIL.Image.Image
        Of any mode; loaded.
    background : (int, int, int) or None
        What shows through where it is transparent; None takes the colours as stored.
    name : str
        For errors.

    Raises
    ------
    ImageError
        Pixel values without an agreed range (32-bit integers, floats outside 0..1).
    """
    mode = image.mode
    if mode in ("La", "RGBa"):
        # Colours already multiplied by alpha: Pillow undoes that to these two modes only.
        image = image.convert("LA" if mode == "La" else "RGBA")
    if mode.startswith("I"):
        image = Image.fromarray(words_to_bytes(np.asarray(image), name))
    elif mode == "F":
        image = Image.fromarray(unit_to_bytes(np.asarray(image), name))
    elif background is not None and image.has_transparency_data:
        return _composited(image, background)
    if image.mode == "RGB":
        return image
    if image.mode == "P" and "transparency" in image.info:
        # Straight to RGB, Pillow would warn that the transparency is lost.
        image = image.convert("RGBA")
    return image.convert("RGB")


def _composited(image: Image.Image, background: Color) -> Image.Image:
    if image.mode != "RGBA":
        image = image.convert("RGBA")
    under = Image.new("RGB", image.size, background)
    under.paste(image, mask=image.getchannel("A"))
    return under


def words_to_bytes(values: np.ndarray, name: str) -> np.ndarray:
    """Scale 16-bit pixels, 0..65535, to 0..255 by rounding; wider integers have to be in that range."""
    if values.dtype.itemsize > 2 and (int(values.min()) < 0 or int(values.max()) > 65535):
        raise ImageError(
            f"{name}: its integer pixels go from {values.min()} to {values.max()}, and nothing says which "
            "range that is of; scale them to 0..255 and give a uint8 array",
            source=name,
        )
    return ((values.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)


def unit_to_bytes(values: np.ndarray, name: str) -> np.ndarray:
    """Scale float pixels, 0..1, to 0..255 by rounding.

    A thousandth outside is what interpolation leaves behind, and is clipped. More, or NaN, is an error, since
    the usual cause is pixels of 0..255 that were turned into floats.
    """
    low, high = float(values.min()), float(values.max())
    if not (low >= -0.001 and high <= 1.001):
        raise ImageError(
            f"{name}: its float pixels go from {low:g} to {high:g}, where 0 to 1 was expected; "
            "for pixels of 0 to 255 give array.round().astype('uint8')",
            source=name,
        )
    scaled = np.clip(values.astype(np.float32), 0.0, 1.0) * np.float32(255.0)
    return np.asarray(np.rint(scaled).astype(np.uint8))
