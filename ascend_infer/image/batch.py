"""Pictures to a batch that a model takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from PIL import Image

from ascend_infer.cpu_budget import cpu_budget
from ascend_infer.errors import ImageError, InvalidOptionError
from ascend_infer.image.checks import truth, whole
from ascend_infer.image.presets import preset as find_preset
from ascend_infer.image.reading import MAX_PIXELS, LoadOptions, read_rgb
from ascend_infer.image.recipe import Preset, PresetOptions
from ascend_infer.image.render import render, write_row
from ascend_infer.image.rows import fill_rows
from ascend_infer.image.source import Source, describe, is_array, is_encoded

__all__ = ["Prepared", "prepare", "prepare_many"]

# A JPEG decoded at a fraction of its size keeps at least this much more than the scaling needs, so that the
# filter still has something to average over.
_FAST_MARGIN = 2


class Prepared(NamedTuple):
    """What :func:`prepare_many` returns.

    Attributes
    ----------
    batch : ndarray
        As of :func:`prepare`; rows of pictures that could not be read are zero.
    errors : dict of int to ImageError
        Row to what was wrong, in order; empty when all is well.
    """

    batch: np.ndarray
    errors: dict[int, ImageError]


def prepare(
    images: Source | Iterable[Source],
    preset: str | Preset | Mapping[str, Any] = "imagenet",
    *,
    out: np.ndarray | None = None,
    threads: int | None = None,
    max_pixels: int | None = MAX_PIXELS,
    source_layout: Literal["HWC", "CHW"] = "HWC",
    fast: bool = False,
    **overrides: Unpack[PresetOptions],
) -> np.ndarray:
    """Read, scale and normalise pictures into one batch.

    Parameters
    ----------
    images : source or iterable of sources
        One picture (see :func:`load` for what may be one) gives a batch of one. An iterable, or an array of
        four dimensions, gives a row for each; an iterator is read to its end before work begins.
    preset : str, Preset or mapping
        See :func:`ascend_infer.image.preset`.
    out : ndarray or None
        Where to write: C-contiguous and writable, exactly ``(n, *preset.shape)`` of the preset's dtype.
        What it holds after an error is not defined.
    threads : int or None
        How many pictures are worked on at once, this thread included; None takes the CPUs that this process
        may use (affinity and cgroup quota). One picture never starts a thread.
    max_pixels, source_layout
        See :func:`load`.
    fast : bool
        Let JPEG files be decoded at 1/2, 1/4 or 1/8 of their size, as long as that is at least twice what the
        scaling needs. Much faster for photographs of many megapixels. Pixels then differ slightly from the
        exact ones, by a few of 255 (and the crop by a fraction of a pixel); off, the result depends on
        nothing but the file, the preset and Pillow's decoder.
    **overrides
        Fields of the preset to change: ``size=240``, ``layout="NHWC"``.

    Returns
    -------
    ndarray, (n, C, H, W) or (n, H, W, C) as the preset's layout says
        ``out`` when it was given. An empty list gives n = 0.

    Raises
    ------
    ImageError
        The first picture, in the order given, that cannot be read.
    InvalidOptionError
        An option, a preset or ``out`` does not fit.

    Notes
    -----
    Blocking; the decoding, scaling and table look-ups release the GIL. Threads that it starts have ended when
    it returns or raises, after Ctrl-C too. Each picture is written straight into its row.

    Examples
    --------
    >>> import numpy as np
    >>> prepare(np.zeros((48, 64, 3), np.uint8), "unit", size=32).shape
    (1, 3, 32, 32)
    """
    options = (max_pixels, source_layout, fast)
    batch, errors = _prepare(images, find_preset(preset, **overrides), out, threads, options, True)
    if errors:
        raise errors[min(errors)]
    return batch


def prepare_many(
    images: Source | Iterable[Source],
    preset: str | Preset | Mapping[str, Any] = "imagenet",
    *,
    out: np.ndarray | None = None,
    threads: int | None = None,
    max_pixels: int | None = MAX_PIXELS,
    source_layout: Literal["HWC", "CHW"] = "HWC",
    fast: bool = False,
    **overrides: Unpack[PresetOptions],
) -> Prepared:
    """Do as :func:`prepare` does, but go on past pictures that cannot be read and say which those were.

    Returns
    -------
    Prepared
        The batch, with zeros for bad pictures, and the errors by row.

    Raises
    ------
    InvalidOptionError
        An option, a preset or ``out`` does not fit.
    """
    options = (max_pixels, source_layout, fast)
    batch, errors = _prepare(images, find_preset(preset, **overrides), out, threads, options, False)
    for row in errors:
        batch[row] = 0
    return Prepared(batch, dict(sorted(errors.items())))


def _prepare(
    images: Any,
    preset: Preset,
    out: np.ndarray | None,
    threads: int | None,
    options: tuple[int | None, Literal["HWC", "CHW"], bool],
    stop_at_error: bool,
) -> tuple[np.ndarray, dict[int, ImageError]]:
    max_pixels, source_layout, fast = options
    reading = LoadOptions(preset.background, max_pixels, source_layout)
    if threads is not None:
        whole("threads", threads, 1)
    sources, single = _listed(images)
    # The budget is read from the system: not for a single picture.
    workers = threads or (cpu_budget() if len(sources) > 1 else 1)
    batch = _batch(out, (len(sources), *preset.shape), preset.dtype)
    enough = partial(_enough, preset) if truth("fast", fast) else None
    if workers > 1:
        _decode_repeated(sources)

    def fill(row: int) -> None:
        source = sources[row]
        rgb = read_rgb(source, reading, describe(source, None if single else row), enough)
        write_row(render(rgb, preset.place(*rgb.size), preset), preset, batch[row])

    return batch, fill_rows(fill, len(sources), workers, stop_at_error=stop_at_error)


def _listed(images: Any) -> tuple[list[Any], bool]:
    if isinstance(images, Image.Image) or is_encoded(images):
        return [images], True
    if is_array(images):
        # One dimension of objects is a column of paths, of numbers an encoded file.
        shape, kind = np.shape(images), getattr(getattr(images, "dtype", None), "kind", "")
        if len(shape) != 4 and not (len(shape) == 1 and kind not in "uifb"):
            return [images], True
    if isinstance(images, Iterable) and not isinstance(images, Mapping):
        return list(images), False
    raise InvalidOptionError(
        f"images={type(images).__name__}: expected a path, the bytes of an image file, a binary file object, "
        "a PIL image, an array, or a list of such",
        option="images",
        got=repr(images),
    )


def _batch(out: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        got = type(out).__name__
    elif out.shape != shape or out.dtype != np.dtype(dtype):
        got = f"{out.dtype} {out.shape}"
    elif not out.flags.c_contiguous:
        got = "an array that is not C-contiguous"
    elif not out.flags.writeable:
        got = "a read-only array"
    else:
        batch: np.ndarray = out
        return batch
    raise InvalidOptionError(
        f"out: got {got}, expected a writable C-contiguous array of {dtype} {shape}; for a larger one, "
        "give out[:n]",
        option="out",
        got=got,
    )


def _enough(preset: Preset, width: int, height: int) -> tuple[int, int]:
    placement = preset.place(width, height)
    left, top, right, bottom = placement.box
    columns, rows = placement.scaled
    # Rounded up: a draft may come out as small as asked for.
    return (
        -(-width * columns * _FAST_MARGIN // (right - left)),
        -(-height * rows * _FAST_MARGIN // (bottom - top)),
    )


def _decode_repeated(sources: list[Any]) -> None:
    # Two threads must not decode the same lazily opened image at once. What is wrong with it is found, and
    # reported under its own row, when its turn comes.
    seen: set[int] = set()
    for source in sources:
        if not isinstance(source, Image.Image):
            continue
        if id(source) in seen:
            try:
                source.load()
            except Exception:
                continue
        seen.add(id(source))
