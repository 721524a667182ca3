"""The ModelDef of a simulator model: what viewers and our own reader derive inputs and outputs from."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_infer.om.aipp import OmAipp
from ascend_infer.om.codes import FORMATS, om_dtype
from ascend_infer.om.encode import (
    attribute_map,
    boolean_attr,
    bytes_field,
    float_attr,
    integer_attr,
    integer_lists_attr,
    integers_attr,
    named_attr,
    text_attr,
    texts_attr,
    varint,
    varint_field,
)
from ascend_infer.om.gears import Dims, gear_list
from ascend_infer.om.graph_io import SHAPE_DATA
from ascend_infer.om.inout import TensorInfo
from ascend_infer.om.plan import Plan

__all__ = ["GUARD_SOC", "pack_modeldef"]

# No device's name: CANN of 2023 and later refuses it.
GUARD_SOC = "AscendInferSim"
_GEAR_KINDS = {"batch": 1, "hw": 2, "dims": 3}
_BODY = "onnx"


def pack_modeldef(plan: Plan, name: str, soc: str, work_size: int, weight_size: int) -> bytes:
    """Return the message's bytes."""
    ops = [_data_op(plan, index, tensor) for index, tensor in enumerate(plan.info.inputs)]
    ops += [_body_op(plan), _net_output(plan)]
    names = [tensor.name for tensor in plan.info.inputs]
    graph = bytes_field(1, f"{name}_0")
    graph += b"".join(bytes_field(4, f"{tensor}:0") for tensor in names)
    graph += bytes_field(5, "Node_Output:0")
    graph += b"".join(bytes_field(6, op) for op in ops)
    attributes = {
        "soc_version": text_attr(GUARD_SOC),
        "ascend_infer_sim.soc": text_attr(soc),
        "atc_version": text_attr("ascend_infer-sim"),
        "framework_type": text_attr("Onnx"),
        "memory_size": integer_attr(work_size),
        "weight_size": integer_attr(weight_size),
        "stream_num": integer_attr(1),
        "event_num": integer_attr(0),
        "attr_model_out_nodes_name": texts_attr(tensor.name for tensor in plan.info.outputs),
    }
    return bytes_field(1, name) + varint_field(2, 1) + bytes_field(7, graph) + attribute_map(11, attributes)


def _tensor(info: TensorInfo, dims: Dims, attributes: Mapping[str, bytes]) -> bytes:
    known = {"format_for_int": integer_attr(info.format), **attributes}
    if info.shape_range:
        known["shape_range"] = integer_lists_attr(info.shape_range)
    message = varint_field(2, om_dtype(info.dtype))
    message += bytes_field(3, bytes_field(1, b"".join(map(varint, dims))) if dims else b"")
    message += bytes_field(4, FORMATS[info.format]) + attribute_map(5, known) + varint_field(10, info.size)
    return message


def _op(name: str, kind: str, parts: bytes, inputs: list[str]) -> bytes:
    head = bytes_field(1, name) + bytes_field(2, kind)
    return head + b"".join(bytes_field(5, source) for source in inputs) + parts


def _data_op(plan: Plan, index: int, info: TensorInfo) -> bytes:
    dims = plan.root_dims[index]
    attributes = {"index": integer_attr(index)}
    if plan.gears and info.name != SHAPE_DATA:
        attributes["_mbatch_origin_input_dims"] = integers_attr(info.dims)
    if info.dims_v2 != info.dims:
        attributes["input_dims"] = integers_attr(info.dims_v2)
    aipp = plan.aipp.get(index)
    if aipp is not None:
        attributes["_data_related_aipp_mode"] = text_attr("static_aipp")
        attributes["aipp"] = named_attr("", _aipp_attributes(index, aipp))
    special = {"_special_input_size": integer_attr(info.size)} if info.size else {}
    parts = attribute_map(10, attributes)
    parts += bytes_field(33, _tensor(info, dims, {})) + bytes_field(34, _tensor(info, dims, special))
    return _op(info.name, "Data", parts, [])


def _body_op(plan: Plan) -> bytes:
    """Encode what stands between inputs and outputs: a Case that holds the gears, or the model itself."""
    attributes = {}
    kind = "OnnxModel"
    found = gear_list(plan.info)
    if found is not None:
        kind = "Case"
        gear_kind, values = found
        attributes = {f"_pred_value_{i}": integers_attr(value) for i, value in enumerate(values)}
        attributes["_batch_num"] = integer_attr(len(values))
        attributes["mbatch_dynamic_type"] = integer_attr(_GEAR_KINDS[gear_kind])
        if plan.info.shape_order:
            attributes["user_designate_shape_order"] = texts_attr(plan.info.shape_order)
    inputs = list(zip(plan.info.inputs, plan.root_dims, strict=True))
    if found is not None:  # a Case takes what decides first
        inputs = inputs[-1:] + inputs[:-1]
    parts = attribute_map(10, attributes)
    parts += b"".join(bytes_field(33, _tensor(info, dims, {})) for info, dims in inputs)
    parts += b"".join(bytes_field(34, _tensor(info, info.dims, {})) for info in plan.info.outputs)
    return _op(_BODY, kind, parts, [f"{info.name}:0" for info, _ in inputs])


def _net_output(plan: Plan) -> bytes:
    attributes = {}
    if plan.info.output_shapes:
        attributes["_dynamic_output_dims"] = texts_attr(plan.info.output_shapes)
    parts = attribute_map(10, attributes)
    for number, (info, tensor) in enumerate(zip(plan.info.outputs, plan.outputs, strict=True)):
        known = {"_origin_output_tensor_name": text_attr(tensor.name)}
        if info.size:
            known["_special_output_size"] = integer_attr(info.size)
        parts += bytes_field(24, _BODY) + varint_field(25, number)
        parts += bytes_field(33, _tensor(info, info.dims, known))
    return _op("Node_Output", "NetOutput", parts, [f"{_BODY}:{i}" for i in range(len(plan.info.outputs))])


def _aipp_attributes(index: int, aipp: OmAipp) -> dict[str, bytes]:
    x, y, width, height = aipp.crop or (0, 0, 0, 0)
    left, right, top, bottom = aipp.padding or (0, 0, 0, 0)
    whole = {
        "aipp_mode": 1, "related_input_rank": index, "input_format": aipp.input_format,
        "src_image_size_w": aipp.src_image_size[0], "src_image_size_h": aipp.src_image_size[1],
        "load_start_pos_w": x, "load_start_pos_h": y, "crop_size_w": width, "crop_size_h": height,
        "left_padding_size": left, "right_padding_size": right,
        "top_padding_size": top, "bottom_padding_size": bottom,
    }  # fmt: skip
    for row, values in enumerate(aipp.matrix):
        whole |= {f"matrix_r{row}c{column}": value for column, value in enumerate(values)}
    whole |= {f"input_bias_{i}": value for i, value in enumerate(aipp.input_bias)}
    whole |= {f"output_bias_{i}": value for i, value in enumerate(aipp.output_bias)}
    real = {"padding_value": aipp.padding_value}
    real |= {f"mean_chn_{i}": value for i, value in enumerate(aipp.mean)}
    real |= {f"min_chn_{i}": value for i, value in enumerate(aipp.min)}
    real |= {f"var_reci_chn_{i}": value for i, value in enumerate(aipp.var_reci)}
    switches = {
        "crop": aipp.crop is not None, "padding": aipp.padding is not None, "resize": False,
        "csc_switch": aipp.csc_switch, "rbuv_swap_switch": aipp.rbuv_swap_switch,
        "ax_swap_switch": aipp.ax_swap_switch,
    }  # fmt: skip
    return {
        **{name: integer_attr(value) for name, value in whole.items()},
        **{name: float_attr(value) for name, value in real.items()},
        **{name: boolean_attr(value) for name, value in switches.items()},
    }
