"""The recipes that published models were trained and evaluated with, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Unpack

from ascend_infer.errors import InvalidOptionError
from ascend_infer.image.choice import one_of
from ascend_infer.image.recipe import Preset, PresetOptions, known_fields

__all__ = ["PRESETS", "preset"]

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        each.name: each
        for each in (
            # torchvision's classification recipe: Resize(256), CenterCrop(224), ToTensor, Normalize.
            Preset("imagenet", scale=1 / 255, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
            # EfficientNet-Lite's evaluation recipe (CROP_PADDING 32, bicubic, (x - 127) / 128).
            Preset("efficientnet_lite", policy="crop_resize", filter="bicubic", mean=(127.0,), std=(128.0,)),
            # 0..1 and -1..1, as many Keras and TensorFlow models want them.
            Preset("unit", scale=1 / 255),
            Preset("signed_unit", scale=1 / 127.5, mean=(1.0,)),
            # YOLOv3's: proportions kept, grey around, 0..1.
            Preset("letterbox", size=(416, 416), policy="letterbox", scale=1 / 255),
            # Pixels as they are, for models that normalise inside (AIPP of an .om, quantised models).
            Preset("raw", dtype="uint8"),
        )
    }
)
"""Name to :class:`Preset`; read-only."""


def preset(name: str | Preset | Mapping[str, Any] = "imagenet", **overrides: Unpack[PresetOptions]) -> Preset:
    """Return a preset, with some fields changed.

    Parameters
    ----------
    name : str, Preset or mapping
        A name in :data:`PRESETS`, a preset, or a dict of its fields. A dict's key ``"preset"`` names the one
        that the other keys change: ``{"preset": "imagenet", "size": 240}``.
    **overrides
        Fields of :class:`Preset`. When ``channels`` turns RGB into BGR or back and ``mean`` or ``std`` is not
        given, theirs are turned round too, so that each colour keeps its own.

    Raises
    ------
    InvalidOptionError
        No such preset or field, or a value that a field cannot have.

    Examples
    --------
    >>> preset("imagenet", size=240).shape
    (3, 240, 240)
    >>> preset("imagenet", policy="stretch", layout="NHWC").policy
    'stretch'
    """
    if isinstance(name, Preset):
        base = name
    elif isinstance(name, Mapping):
        values = dict(name)
        base = preset(values.pop("preset", Preset()))
        base = _changed(base, values)
    elif isinstance(name, str):
        base = PRESETS[one_of("preset", name, PRESETS)]
    else:
        raise InvalidOptionError(
            f"preset={name!r}: expected a name ({', '.join(PRESETS)}), a Preset or a dict of its fields",
            option="preset",
            got=repr(name),
        )
    return _changed(base, overrides)


def _changed(base: Preset, changes: Mapping[str, Any]) -> Preset:
    if not changes:
        return base
    values = base.to_dict() | known_fields(changes)
    if {base.channels, values["channels"]} == {"RGB", "BGR"}:
        for field in ("mean", "std"):
            if field not in changes:
                values[field] = values[field][::-1]
    return Preset(**values)
