"""One picture, from wherever it is, to upright 8-bit RGB."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile

from ascend_infer.errors import ImageError, InvalidOptionError
from ascend_infer.image.arrays import as_array, image_from_array
from ascend_infer.image.choice import one_of
from ascend_infer.image.color import WHITE, Color, as_color
from ascend_infer.image.formats import diagnose, identify
from ascend_infer.image.gif_screen import first_frame_reach
from ascend_infer.image.pixels import orientation, swaps_axes, to_rgb
from ascend_infer.image.source import Source, describe, is_array, is_encoded, opened

__all__ = ["MAX_PIXELS", "LoadOptions", "decode", "load", "read_rgb"]

MAX_PIXELS = 89_478_485
"""Default limit on width times height: 256 MiB of RGB, where Pillow itself begins to warn."""

Layout = Literal["HWC", "CHW"]

# Given the size that a file has when it stands upright, the smallest size that is still enough.
Enough = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How sources are read; checked once for a whole batch."""

    background: Color | None = WHITE
    max_pixels: int | None = MAX_PIXELS
    source_layout: Layout = "HWC"

    def __post_init__(self) -> None:
        if self.background is not None:
            object.__setattr__(self, "background", as_color("background", self.background))
        one_of("source_layout", self.source_layout, ("HWC", "CHW"))
        limit: object = self.max_pixels
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise InvalidOptionError(
                f"max_pixels={limit!r}: expected a positive number of pixels, or None for no limit",
                option="max_pixels",
                got=limit,
            )


def load(
    source: Source,
    *,
    background: Color | None = WHITE,
    max_pixels: int | None = MAX_PIXELS,
    source_layout: Layout = "HWC",
) -> Image.Image:
    """Read one picture.

    Parameters
    ----------
    source : path, bytes, file object, PIL image or array
        A path (str or PathLike); the bytes of an image file (bytes, bytearray, memoryview, 1-D uint8 array);
        a binary file object, read to its end and left open; a PIL image, neither closed nor changed (but
        decoded, when it was not yet); an array in RGB order: uint8 0..255, uint16 0..65535, float 0..1, bool.
    background : (int, int, int) or None
        RGB 0..255 shown where the picture is transparent. White, because that is what such pictures are
        made to be seen on; None drops the transparency and takes the colours stored below it, as
        ``Image.convert("RGB")`` does.
    max_pixels : int or None
        Files and PIL images with more pixels are refused before anything is decoded; None for no limit.
    source_layout : {"HWC", "CHW"}
        Where the channels of arrays stand; never guessed.

    Returns
    -------
    PIL.Image.Image
        Mode RGB, upright (EXIF orientation applied), without metadata; the caller's own, sharing no memory
        and holding no file. Of an animation the first frame. Colour profiles are not applied.

    Raises
    ------
    ImageError
        Missing, unreadable, empty, truncated, damaged, not a picture, too many pixels. A truncated file is an
        error and never partly grey (unless the application set ``ImageFile.LOAD_TRUNCATED_IMAGES``).
    InvalidOptionError
        An option has a value that it cannot have.

    Notes
    -----
    Blocking; Pillow releases the GIL while it decodes. Safe from any thread, except that one PIL image or
    file object that is still to be decoded must not be given to two calls at once.
    """
    options = LoadOptions(background, max_pixels, source_layout)
    rgb = read_rgb(source, options, describe(source))
    if rgb is source or isinstance(rgb, ImageFile.ImageFile):
        rgb = rgb.copy()
    # Metadata would say that the picture has still to be turned.
    rgb.info.clear()
    return rgb


def decode(
    source: Source,
    *,
    background: Color | None = WHITE,
    max_pixels: int | None = MAX_PIXELS,
    source_layout: Layout = "HWC",
) -> NDArray[np.uint8]:
    """Read one picture into an array; parameters, errors and notes are those of :func:`load`.

    Returns
    -------
    ndarray of uint8, (height, width, 3)
        RGB, C order, writable, the caller's own.
    """
    options = LoadOptions(background, max_pixels, source_layout)
    return np.array(read_rgb(source, options, describe(source)), dtype=np.uint8)


def read_rgb(source: Any, options: LoadOptions, name: str, enough: Enough | None = None) -> Image.Image:
    """Read a source to upright RGB; the result may be the source itself, and is not to be changed.

    ``enough`` allows a JPEG to be decoded at 1/2, 1/4 or 1/8 of its size while it stays at least that large.
    """
    if isinstance(source, Image.Image):
        return _decoded(source, options, name, None)
    if is_array(source):
        array = as_array(source, name)
        if array.ndim != 1 or array.dtype != np.uint8:
            return to_rgb(
                image_from_array(array, options.source_layout, name),
                options.background,
                name,
            )
        source = array.tobytes()
    elif not is_encoded(source):
        raise ImageError(
            f"{name}: expected a path, the bytes of an image file, a binary file object, "
            "a PIL image or an array",
            source=name,
        )
    with opened(source, name) as file:
        return _decoded(_open(file, options, name), options, name, enough)


def _open(file: IO[bytes], options: LoadOptions, name: str) -> Image.Image:
    try:
        prefix = file.read(32)
        found = identify(prefix)
        file.seek(0)
        if found is None:
            why = diagnose(prefix, in_memory=isinstance(file, io.BytesIO))
            raise ImageError(f"{name}: it is not an image file: {why}", source=name)
        if found.name == "GIF":
            _check_pixels(first_frame_reach(file), options, name)
            file.seek(0)
        return found.open(file)
    except ImageError:
        raise
    except Exception as error:
        raise _undecodable(name, error) from error


def _decoded(image: Image.Image, options: LoadOptions, name: str, enough: Enough | None) -> Image.Image:
    # TIFF allocates by the size of its tiles, which need not be that of the picture.
    _check_pixels(image.size, options, name)
    _check_pixels(getattr(image, "_tile_size", image.size), options, name)
    if 0 in image.size:
        raise ImageError(f"{name}: it has no pixels ({image.width}x{image.height})", source=name)
    try:
        if enough is not None and image.format == "JPEG":
            turn = orientation(image)
            width, height = image.size
            if swaps_axes(turn):
                width, height = enough(height, width)[::-1]
            else:
                width, height = enough(width, height)
            image.draft(None, (width, height))
        image.load()
        turn = orientation(image)
        rgb = to_rgb(image, options.background, name)
        return rgb if turn is None else rgb.transpose(turn)
    except ImageError:
        raise
    except Exception as error:
        raise _undecodable(name, error, image) from error


def _check_pixels(size: tuple[int, int], options: LoadOptions, name: str) -> None:
    width, height = size
    if options.max_pixels is not None and width * height > options.max_pixels:
        raise ImageError(
            f"{name}: {width}x{height} is {width * height:,} pixels, the limit is {options.max_pixels:,}; "
            "it was not decoded. If you trust it, raise max_pixels (None: no limit)",
            source=name,
        )


def _undecodable(name: str, error: Exception, image: Image.Image | None = None) -> ImageError:
    kind = f"{image.format} file" if image is not None and image.format else "file"
    text = str(error) or type(error).__name__
    if isinstance(error, MemoryError):
        problem, remedy = "there was not enough memory", "lower max_pixels or the number of threads"
    elif isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        problem, remedy = (
            text,
            "Pillow's limit is below max_pixels here: raise PIL.Image.MAX_IMAGE_PIXELS too",
        )
    elif isinstance(error, ImportError):
        problem, remedy = f"this Pillow has no reader for it ({text})", "upgrade Pillow"
    else:
        problem, remedy = text, "it is truncated or damaged: get a fresh copy, or leave it out"
    return ImageError(f"{name}: the {kind} cannot be decoded: {problem}; {remedy}", source=name)
