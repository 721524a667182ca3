"""How one kind of model wants its pictures: a value that can be compared, hashed and kept in a config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal, TypedDict

import numpy as np

from ascend_infer.errors import InvalidOptionError
from ascend_infer.image.checks import dtype_name, number, per_channel, text, two_sides, whole, wrong
from ascend_infer.image.choice import did_you_mean, one_of
from ascend_infer.image.color import WHITE, Color, as_color
from ascend_infer.image.placement import POLICIES, Placement, Policy, place

__all__ = ["FILTERS", "Preset", "PresetOptions"]

Filter = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
FILTERS: tuple[Filter, ...] = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")
Channels = Literal["RGB", "BGR", "L"]
DType = Literal["float32", "float16", "uint8"]

_LARGEST_SIDE = 32768


class PresetOptions(TypedDict, total=False):
    """The fields of a :class:`Preset` as keyword arguments, with the short forms that are taken for them."""

    size: int | Sequence[int]
    policy: Policy
    crop_padding: int
    filter: Filter
    pad_color: int | Sequence[int]
    background: int | Sequence[int] | None
    scale: float
    mean: float | Sequence[float]
    std: float | Sequence[float]
    channels: Channels
    layout: Literal["NCHW", "NHWC"]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Preset:
    """How pictures become a model's input.

    A pixel's value x (0..255) becomes ``(x * scale - mean) / std``, worked out in float64 and rounded once
    to ``dtype``. Immutable, hashable, safe from any thread.

    Attributes
    ----------
    name : str
        For people; nothing depends on it.
    size : (int, int)
        Height and width in pixels; one number for a square.
    policy : {"center_crop", "crop_resize", "letterbox", "stretch"}
        ``center_crop`` scales the whole picture until it just covers ``size + crop_padding`` (the shorter
        side, for a square), then cuts ``size`` out of the middle. ``crop_resize`` cuts the same part out of
        the picture first and scales that. ``letterbox`` fits the whole picture in, keeps its proportions,
        centres it and pads with ``pad_color``. ``stretch`` scales each side by itself.
    crop_padding : int
        Pixels by which ``center_crop`` and ``crop_resize`` see more than they keep: 32 with size 224 is
        "resize to 256, crop 224"; 0 keeps the whole shorter side.
    filter : {"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}
        Pillow's resampling filters, antialiased when scaling down (except nearest).
    pad_color : (int, int, int)
        RGB 0..255, whatever ``channels`` is; one number for a grey. Normalised as pixels are.
    background : (int, int, int) or None
        See :func:`ascend_infer.image.load`.
    scale : float
        What pixel values are multiplied by first; 1/255 makes them 0..1.
    mean, std : tuple of float
        In units after ``scale``, one for each channel in the order of ``channels``; one number for all.
    channels : {"RGB", "BGR", "L"}
        Order of the channels, or one channel of luma (ITU-R 601-2, as Pillow's mode L).
    layout : {"NCHW", "NHWC"}
    dtype : {"float32", "float16", "uint8"}
        uint8 gives pixels as they are, and allows neither scale nor mean nor std.

    Raises
    ------
    InvalidOptionError
        A field has a value that it cannot have; ``option`` is its name.
    """

    name: str = "custom"
    size: tuple[int, int] = (224, 224)
    policy: Policy = "center_crop"
    crop_padding: int = 32
    filter: Filter = "bilinear"
    pad_color: Color = (128, 128, 128)
    background: Color | None = WHITE
    scale: float = 1.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    channels: Channels = "RGB"
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    dtype: DType = "float32"

    def __post_init__(self) -> None:
        one_of("policy", self.policy, POLICIES)
        one_of("filter", self.filter, FILTERS)
        one_of("channels", self.channels, ("RGB", "BGR", "L"))
        one_of("layout", self.layout, ("NCHW", "NHWC"))
        object.__setattr__(
            self, "dtype", one_of("dtype", dtype_name(self.dtype), ("float32", "float16", "uint8"))
        )
        checked: dict[str, object] = {
            "name": text("name", self.name),
            "size": two_sides("size", self.size, _LARGEST_SIDE),
            "crop_padding": whole("crop_padding", self.crop_padding, 0, _LARGEST_SIDE),
            "pad_color": as_color("pad_color", self.pad_color),
            "background": None if self.background is None else as_color("background", self.background),
            "scale": number("scale", self.scale),
            "mean": per_channel("mean", self.mean, len(self.channels)),
            "std": per_channel("std", self.std, len(self.channels)),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)
        if self.scale == 0.0:
            raise wrong("scale", self.scale, "any number but 0, which would make all pixels the same")
        if 0.0 in self.std:
            raise wrong("std", self.std, "numbers other than 0, since pixels are divided by them")
        self._check_range()

    def _check_range(self) -> None:
        plain = self.scale == 1.0 and set(self.mean) == {0.0} and set(self.std) == {1.0}
        if self.dtype == "uint8":
            if not plain:
                raise wrong(
                    "dtype",
                    self.dtype,
                    "float32 or float16 with this scale, mean and std; uint8 takes pixels as they are "
                    "(scale=1, mean=0, std=1, or preset 'raw')",
                )
            return
        largest = float(np.finfo(self.dtype).max)
        for mean, std in zip(self.mean, self.std, strict=True):
            ends = (-mean / std, (255.0 * self.scale - mean) / std)
            if not all(abs(end) <= largest for end in ends):
                raise wrong(
                    "std", self.std, f"numbers that keep pixels within {self.dtype}, up to {largest:g}"
                )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of one prepared picture: (channels, height, width), or (height, width, channels) for NHWC."""
        height, width = self.size
        count = len(self.channels)
        return (count, height, width) if self.layout == "NCHW" else (height, width, count)

    def place(self, width: int, height: int) -> Placement:
        """Say where the pixels of an upright picture of this size go, and how to map boxes back."""
        return place(
            whole("width", width, 1, None),
            whole("height", height, 1, None),
            self.size,
            self.policy,
            self.crop_padding,
        )

    def table(self) -> np.ndarray:
        """Return what each pixel value becomes: (channels, 256) of ``dtype``, read-only and shared."""
        return _table(self.scale, self.mean, self.std, self.dtype)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dict that ``json.dumps`` takes and :meth:`from_dict` gives back equal."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preset:
        """Make a preset of a dict as :meth:`to_dict` gives it; absent fields have their default.

        Raises
        ------
        InvalidOptionError
            It is no mapping, a key is no field, or a value does not fit.
        """
        if not isinstance(values, Mapping):
            raise wrong("preset", values, "a dict of a preset's fields")
        return cls(**known_fields(values))


def known_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping as keyword arguments, after a check that each key is a field of Preset."""
    names = [field.name for field in fields(Preset)]
    for key in values:
        if key not in names:
            hint = "prepare_many() collects errors; " if key == "on_error" else did_you_mean(key, names)
            raise InvalidOptionError(
                f"a preset has no field {key!r}; {hint}its fields are {', '.join(names)}",
                option=str(key),
                got=values[key],
            )
    return dict(values)


@lru_cache(maxsize=64)
def _table(scale: float, mean: tuple[float, ...], std: tuple[float, ...], dtype: str) -> np.ndarray:
    values = np.arange(256, dtype=np.float64) * scale
    table: np.ndarray = ((values - np.array(mean)[:, None]) / np.array(std)[:, None]).astype(dtype)
    table.setflags(write=False)
    return table
