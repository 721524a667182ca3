"""AIPP: the picture preprocessing that is compiled into a model, and with it what a caller has to feed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ascend_infer.om.attributes import Attributes

__all__ = ["AIPP_FORMATS", "OmAipp", "parse_aipp"]

# aclAippInputFormat, the enum of ATC's insert_op.proto.
AIPP_FORMATS = {
    1: "YUV420SP_U8",
    2: "XRGB8888_U8",
    3: "RGB888_U8",
    4: "YUV400_U8",
    5: "NC1HWC0DI_FP16",
    6: "NC1HWC0DI_S8",
    7: "ARGB8888_U8",
    8: "YUYV_U8",
    9: "YUV422SP_U8",
    10: "AYUV444_U8",
    11: "RAW10",
    12: "RAW12",
    13: "RAW16",
    14: "RAW24",
    15: "RGB16",
    16: "RGB20",
    17: "RGB24",
    18: "RGB8_IR",
    19: "RGB16_IR",
    20: "RGB24_IR",
}
# How dims v2 lays out the bytes of an h x w image: h times the first over the second, and the channels.
_LAYOUTS = {
    1: (3, 2, 1),
    2: (1, 1, 4),
    3: (1, 1, 3),
    4: (1, 1, 1),
    7: (1, 1, 4),
    8: (1, 1, 2),
    9: (2, 1, 1),
    10: (1, 1, 4),
}

Quad = tuple[float, float, float, float]
Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class OmAipp:
    """The AIPP of one input. Field names are ATC's own.

    ATC's order of work: channel swaps, crop, colour conversion, mean and scale, padding.

    Attributes
    ----------
    mode : {"static", "dynamic"}
        Dynamic AIPP gets its parameters with each request, through the input ``ascend_dynamic_aipp_data``.
    input_format : int
        ``aclAippInputFormat``; ``format_name`` has its name. 0 when unknown (dynamic AIPP).
    src_image_size : (int, int)
        Width and height of the picture that is fed; 0 where the model's own input size counts.
    crop : (int, int, int, int) or None
        x, y, width, height; width and height are 0 where the network's own input size counts.
    resize : (int, int) or None
        Width, height.
    padding : (int, int, int, int) or None
        Left, right, top, bottom.
    padding_value : float
        In the network's number range.
    csc_switch, rbuv_swap_switch, ax_swap_switch : bool
        Colour conversion; R and B (U and V) swapped; the fourth channel is the last instead of the first.
    matrix : 3 rows of 3 int
        Of the colour conversion, times 256.
    input_bias, output_bias : (int, int, int)
    mean : (float, float, float, float)
    min, var_reci : (float, float, float, float)
        ``(pixel - mean - min) * var_reci`` by channel.
    max_src_image_size : int
        Dynamic AIPP: bytes of the largest picture.
    """

    mode: Literal["static", "dynamic"] = "static"
    input_format: int = 0
    src_image_size: tuple[int, int] = (0, 0)
    crop: tuple[int, int, int, int] | None = None
    resize: tuple[int, int] | None = None
    padding: tuple[int, int, int, int] | None = None
    padding_value: float = 0.0
    csc_switch: bool = False
    rbuv_swap_switch: bool = False
    ax_swap_switch: bool = False
    matrix: tuple[Triple, Triple, Triple] = ((298, 516, 0), (298, -100, -208), (298, 0, 409))
    input_bias: Triple = (16, 128, 128)
    output_bias: Triple = (16, 128, 128)
    mean: Quad = (0.0, 0.0, 0.0, 0.0)
    min: Quad = (0.0, 0.0, 0.0, 0.0)
    var_reci: Quad = (1.0, 1.0, 1.0, 1.0)
    max_src_image_size: int = 0

    @property
    def format_name(self) -> str:
        """Name of the input format, ``"YUV420SP_U8"``."""
        return AIPP_FORMATS.get(self.input_format, f"format {self.input_format}")

    def feed_dims(self, batch: int, height: int, width: int) -> tuple[int, int, int, int] | None:
        """Return the shape (dims v2) of the uint8 array to feed for pictures of this size; -1 stays -1.

        None for formats whose layout is not documented.
        """
        layout = _LAYOUTS.get(self.input_format)
        if layout is None:
            return None
        times, over, channels = layout
        return batch, height if height < 0 else height * times // over, width, channels

    def instruction(self, dims_v2: tuple[int, ...]) -> str:
        """Say in a sentence what the caller has to feed into an input of these dims."""
        if self.mode == "dynamic":
            return (
                f"a uint8 picture of at most {self.max_src_image_size:,} bytes; its format, crop, mean and "
                "scale are set with each request (dynamic AIPP)"
            )
        shape = ", ".join("n" if d < 0 else str(d) for d in dims_v2)
        swapped = self.rbuv_swap_switch
        pictures = {
            1: "NV21 (YVU420 semi-planar)" if swapped else "NV12 (YUV420 semi-planar)",
            2: "XBGR" if swapped else "XRGB",
            3: "BGR" if swapped else "RGB",
            4: "grey",
        }
        kind = pictures.get(self.input_format, self.format_name)
        if self.input_format == 2 and not self.ax_swap_switch:
            kind = "BGRX" if swapped else "RGBX"
        return f"uint8 {kind} pictures of shape ({shape}), without mean and scale, which the model applies"


def parse_aipp(data: Attributes) -> OmAipp | None:
    """Read the AIPP out of a Data operator's attributes; None when the input has none.

    Files of 2020 have no ``_data_related_aipp_mode``: there ``aipp_mode`` inside ``aipp`` decides.
    """
    mode = data.text("_data_related_aipp_mode")
    found = data.nested("aipp")
    if found is None:
        return OmAipp(mode="dynamic") if mode in ("dynamic_aipp", "dynamic_aipp_conf") else None
    code = found.integer("aipp_mode", 0)
    if mode in ("dynamic_aipp", "dynamic_aipp_conf") or (mode is None and code == 2):
        return OmAipp(mode="dynamic", max_src_image_size=found.integer("max_src_image_size") or 0)
    if mode != "static_aipp" and code != 1:
        return None

    def whole(name: str) -> int:
        number = _first(found, name)
        return 0 if number is None else int(number)

    def quad(name: str, default: float) -> Quad:
        a, b, c, d = (_first(found, f"{name}_{i}") for i in range(4))
        return (
            default if a is None else a, default if b is None else b,
            default if c is None else c, default if d is None else d,
        )  # fmt: skip

    def triple(names: tuple[str, str, str]) -> Triple:
        a, b, c = (whole(name) for name in names)
        return a, b, c

    def bias(name: str) -> Triple:
        return triple((f"{name}_0", f"{name}_1", f"{name}_2"))

    def row(number: int) -> Triple:
        return triple((f"matrix_r{number}c0", f"matrix_r{number}c1", f"matrix_r{number}c2"))

    return OmAipp(
        input_format=whole("input_format"),
        src_image_size=(whole("src_image_size_w"), whole("src_image_size_h")),
        crop=(
            (whole("load_start_pos_w"), whole("load_start_pos_h"), whole("crop_size_w"), whole("crop_size_h"))
            if found.boolean("crop")
            else None
        ),
        resize=((whole("resize_output_w"), whole("resize_output_h")) if found.boolean("resize") else None),
        padding=(
            (
                whole("left_padding_size"),
                whole("right_padding_size"),
                whole("top_padding_size"),
                whole("bottom_padding_size"),
            )
            if found.boolean("padding")
            else None
        ),
        padding_value=found.number("padding_value") or 0.0,
        csc_switch=bool(found.boolean("csc_switch")),
        rbuv_swap_switch=bool(found.boolean("rbuv_swap_switch")),
        ax_swap_switch=bool(found.boolean("ax_swap_switch")),
        matrix=(row(0), row(1), row(2)),
        input_bias=bias("input_bias"),
        output_bias=bias("output_bias"),
        mean=quad("mean_chn", 0.0),
        min=quad("min_chn", 0.0),
        var_reci=quad("var_reci_chn", 1.0),
    )


def _first(attributes: Attributes, name: str) -> float | None:
    """Return a number, stored as one or as a list of one (``repeated`` in insert_op.proto); None for NaN."""
    value = attributes.number(name)
    if value is None:
        listed: tuple[float, ...] = attributes.floats(name) or tuple(
            map(float, attributes.integers(name) or ())
        )
        value = listed[0] if listed else None
    return value if value is not None and abs(value) < 2**63 else None
