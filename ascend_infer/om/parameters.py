"""The parameters of a simulator model as JSON; docs/om.md lists the keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.om.aipp import OmAipp
from ascend_infer.om.plan import Plan
from ascend_infer.om.simulated import CONTAINER_VERSION
from ascend_infer.types import TensorSpec

__all__ = ["aipp_entry", "pack_parameters"]


def pack_parameters(
    plan: Plan, name: str, soc: str, work: int, weights: int, options: Mapping[str, Any]
) -> bytes:
    """Return the JSON text's bytes.

    Raises
    ------
    InvalidOptionError
        When ``options`` are no plain JSON.
    """
    value = {
        "version": CONTAINER_VERSION,
        "name": name,
        "soc": soc,
        "dynamic": plan.dynamic,
        "work_size": work,
        "weight_size": weights,
        "hidden_input": len(plan.inputs) if plan.gears else None,
        "inputs": [_tensor(tensor.name, tensor) for tensor in plan.inputs],
        "outputs": [
            _tensor(info.name, tensor) for info, tensor in zip(plan.info.outputs, plan.outputs, strict=True)
        ],
        "gears": [
            {
                "values": gear.values,
                "inputs": gear.inputs,
                "onnx_inputs": gear.onnx_inputs,
                "outputs": gear.outputs,
            }
            for gear in plan.gears
        ],
        "aipp": [_aipp(plan, index, aipp) for index, aipp in sorted(plan.aipp.items())],
        "options": dict(options),
    }
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOptionError(f"options: no plain JSON: {error}", option="options") from error


def _tensor(name: str, tensor: TensorSpec) -> dict[str, Any]:
    return {
        "name": name,
        "onnx_name": tensor.name,
        "onnx_dtype": tensor.dtype.acl,
        "onnx_dims": tensor.shape,
    }


def aipp_entry(
    index: int, aipp: OmAipp, layout: str, fed: tuple[int, int], target: tuple[int, int]
) -> dict[str, Any]:
    """Return one entry of the key ``aipp``, with the sizes that ATC leaves at zero filled in.

    Parameters
    ----------
    index : int
        Of the input.
    aipp : OmAipp
    layout : str
        ``"NCHW"`` or ``"NHWC"``, of the ONNX model's input.
    fed : tuple of int
        Height and width in pixels of what the caller feeds; not positive when they vary.
    target : tuple of int
        Height and width in pixels of the ONNX model's input.
    """
    source = aipp.src_image_size
    if source == (0, 0) and min(fed) > 0:
        source = (fed[1], fed[0])
    crop = aipp.crop
    if crop is not None:
        height, width = target
        pads = aipp.padding or (0, 0, 0, 0)
        crop = (*crop[:2], crop[2] or width - pads[0] - pads[1], crop[3] or height - pads[2] - pads[3])
    return {
        "input": index,
        "mode": aipp.mode,
        "input_format": aipp.input_format,
        "src_image_size": source,
        "crop": crop,
        "padding": aipp.padding,
        "padding_value": aipp.padding_value,
        "csc_switch": aipp.csc_switch,
        "rbuv_swap_switch": aipp.rbuv_swap_switch,
        "ax_swap_switch": aipp.ax_swap_switch,
        "matrix": aipp.matrix,
        "input_bias": aipp.input_bias,
        "output_bias": aipp.output_bias,
        "mean": aipp.mean,
        "min": aipp.min,
        "var_reci": aipp.var_reci,
        "layout": layout,
    }


def _aipp(plan: Plan, index: int, aipp: OmAipp) -> dict[str, Any]:
    feed, shape = plan.feeds[index], plan.inputs[index].shape
    height, width = shape[2:] if feed.layout == "NCHW" else shape[1:3]
    return aipp_entry(index, aipp, feed.layout, (feed.dims[1], feed.dims[2]), (height, width))
