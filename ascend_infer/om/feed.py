"""What is fed into a simulator model: the ONNX input itself, or the picture that AIPP makes it from."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_infer.errors import InvalidOptionError
from ascend_infer.om.aipp import OmAipp
from ascend_infer.om.codes import FORMAT_CODES
from ascend_infer.om.gears import Dims
from ascend_infer.types import DataType, TensorSpec

__all__ = ["Feed", "feed_of"]

_CHANNELS = (1, 3, 4)


@dataclass(frozen=True, slots=True)
class Feed:
    """Element type, format and dims of what the caller feeds; ``layout`` is the ONNX input's under AIPP."""

    dtype: DataType
    format: int
    dims: Dims
    dims_v2: Dims
    layout: str = ""


def feed_of(tensor: TensorSpec, aipp: OmAipp | None) -> Feed:
    """Work out what is fed; with AIPP, from the picture's size, crop and padding.

    Raises
    ------
    InvalidOptionError
        When the AIPP does not fit the input.
    """
    shape = tensor.shape
    if aipp is None:
        layout = FORMAT_CODES["NCHW" if len(shape) == 4 else "ND"]
        return Feed(tensor.dtype, layout, shape, shape)
    if aipp.mode != "static" or aipp.resize is not None:
        raise _unfit(tensor, "only static AIPP without resize can be simulated")
    if len(shape) != 4 or not (shape[1] in _CHANNELS or shape[3] in _CHANNELS):
        raise _unfit(tensor, "AIPP needs an input of four dimensions with 1, 3 or 4 channels")
    layout_name = "NCHW" if shape[1] in _CHANNELS else "NHWC"
    batch, height, width, channels = (
        shape if layout_name == "NHWC" else (shape[0], shape[2], shape[3], shape[1])
    )
    width_fed = _source(tensor, aipp, 0, width)
    height_fed = _source(tensor, aipp, 1, height)
    dims_v2 = aipp.feed_dims(batch, height_fed, width_fed)
    if dims_v2 is None:
        raise _unfit(tensor, f"input format {aipp.format_name} cannot be simulated")
    if (
        aipp.format_name.startswith("YUV420SP")
        and (height_fed % 2 == 1 or width_fed % 2 == 1)
        and -1 not in shape[1:]
    ):
        raise _unfit(tensor, f"YUV420SP pictures have even sizes, not {width_fed} x {height_fed}")
    dims = (batch, height_fed, width_fed, channels)
    return Feed(DataType.UINT8, FORMAT_CODES["NHWC"], dims, dims_v2, layout_name)


def _source(tensor: TensorSpec, aipp: OmAipp, axis: int, network: int) -> int:
    """Return the picture's width (axis 0) or height (axis 1), checked to become the network's."""
    given = aipp.src_image_size[axis]
    before, after = (
        (aipp.padding[2 * axis], aipp.padding[2 * axis + 1]) if aipp.padding is not None else (0, 0)
    )
    wanted = network if network == -1 else network - before - after
    start, cut = (aipp.crop[axis], aipp.crop[axis + 2]) if aipp.crop is not None else (0, 0)
    if network == -1:
        if given or before or after or cut or start:
            raise _unfit(
                tensor, "with image-size gears the picture's size is the gear's: no crop, no padding"
            )
        return -1
    if aipp.crop is not None:
        if not given or start < 0 or start + (cut or wanted) > given or cut not in (0, wanted):
            raise _unfit(tensor, f"the crop ({start}, {cut or wanted}) does not give {wanted} out of {given}")
        return given
    if (given or wanted) != wanted or wanted <= 0 or before < 0 or after < 0:
        raise _unfit(tensor, f"pictures of {given} with padding {before} and {after} do not become {network}")
    return wanted


def _unfit(tensor: TensorSpec, why: str) -> InvalidOptionError:
    return InvalidOptionError(f"aipp: it does not fit {tensor}: {why}", option="aipp", got=tensor.name)
