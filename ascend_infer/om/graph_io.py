"""Inputs, outputs and gears derived from the graph, by the rules of GE when it loads a model.

This is what ``aclmdlGetDesc`` shows, also for files from before mid-2023, which have no MODEL_INOUT_INFO.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_infer.om.aipp import OmAipp, parse_aipp
from ascend_infer.om.codes import FORMAT_CODES, acl_dtype, dtype_bits
from ascend_infer.om.damage import DamagedError
from ascend_infer.om.inout import MAX_DIMS, MAX_GEARS, InOutInfo, TensorInfo
from ascend_infer.om.modeldef import ModelDef, Op, Tensor

__all__ = ["AIPP_DATA", "SHAPE_DATA", "GraphIo", "derive_io", "tensor_bytes"]

# Inputs that the runtime feeds (ACL_DYNAMIC_TENSOR_NAME and ACL_DYNAMIC_AIPP_NAME of acl_base.h).
SHAPE_DATA = "ascend_mbatch_shape_data"
AIPP_DATA = "ascend_dynamic_aipp_data"

_INPUT_TYPES = frozenset({"Data", "AippData", "AnnData", "RefData"})
_GEAR_TYPES = frozenset({"Case", "StreamSwitchN"})
_FRACTAL_Z = 4


@dataclass(frozen=True)
class GraphIo:
    """What the root graph says.

    Attributes
    ----------
    info : InOutInfo
    aipp : mapping of int to OmAipp
        By input index.
    onnx_names : mapping of int to str
        By output index, where the graph keeps the original tensor's name.
    hidden : frozenset of int
        Indices of inputs that the runtime feeds.
    external_weights : tuple of str
        Files beside the model that hold weights (``--external_weight``).
    notes : tuple of str
    """

    info: InOutInfo
    aipp: Mapping[int, OmAipp] = field(default_factory=dict)
    onnx_names: Mapping[int, str] = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()
    external_weights: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def tensor_bytes(dims: tuple[int, ...], dtype: int) -> int:
    """Return the bytes of a tensor; 0 where a dimension is open or the type's size is not known."""
    count = 1
    for dim in dims:
        if dim < 0:
            return 0
        count *= dim
    return (count * dtype_bits(dtype) + 7) // 8


def derive_io(model: ModelDef) -> GraphIo:
    """Derive inputs, outputs and gears from the root graph; without a graph everything is empty."""
    if not model.graphs:
        return GraphIo(InOutInfo(), notes=("the ModelDef has no graph",))
    data, gears, net_output, files = [], None, None, []
    for head in model.graphs[0].ops:
        if head.type in _INPUT_TYPES:
            data.append(model.op(head))
        elif head.type == "NetOutput" and net_output is None:
            net_output = model.op(head)
        elif head.type in _GEAR_TYPES and gears is None:
            op = model.op(head)
            gears = op if op.attributes.integer("_batch_num") is not None else None
        elif head.type == "FileConstant":
            files.append(model.op(head))
    notes: list[str] = []
    ordered = _by_index(data, notes)
    inputs = tuple(_input(op) for op in ordered)
    outputs, names = _outputs(model, net_output)
    if net_output is None:
        notes.append("the root graph has no NetOutput operator, so its outputs are not known")
    info = InOutInfo(inputs, outputs, output_shapes=_texts(net_output, "_dynamic_output_dims"))
    if gears is not None:
        info = _with_gears(info, gears, notes)
    aipp = {i: found for i, op in enumerate(ordered) if (found := parse_aipp(op.attributes)) is not None}
    hidden = frozenset(
        i
        for i, op in enumerate(ordered)
        if op.type == "AippData" or op.name == AIPP_DATA or (gears is not None and op.name == SHAPE_DATA)
    )
    weights = dict.fromkeys(text for op in files if (text := op.attributes.text("location")))
    return GraphIo(info, aipp, names, hidden, tuple(weights), tuple(notes))


def _texts(op: Op | None, name: str) -> tuple[str, ...]:
    return () if op is None else op.attributes.texts(name)


def _by_index(ops: list[Op], notes: list[str]) -> list[Op]:
    """Order input operators by their attribute ``index``; old files have none: as they appear."""
    numbers = [op.attributes.integer("index") for op in ops]
    known = [number for number in numbers if number is not None]
    if not known:
        return ops
    if len(known) != len(ops) or len(set(known)) != len(known):
        notes.append(f"input operators carry the indices {known[:8]}, which is no order of {len(ops)} inputs")
    last = len(ops)
    keys = [last + i if number is None else number for i, number in enumerate(numbers)]
    return [op for _, op in sorted(zip(keys, ops, strict=True), key=lambda pair: pair[0])]


def _layout(tensor: Tensor) -> int:
    code = tensor.attributes.integer("format_for_int")
    # Newer files have the number (its low byte is the format), older ones only the name.
    if code is None:
        code = FORMAT_CODES.get(tensor.layout, -1 if tensor.layout in ("", "RESERVED") else 2)
    return -1 if code & 0xFF == 40 else code


def _checked(dims: tuple[int, ...], what: str) -> tuple[int, ...]:
    if len(dims) > MAX_DIMS:
        raise DamagedError(f"{what} has {len(dims)} dimensions, more than {MAX_DIMS}", 0)
    return dims


def _ranges(tensor: Tensor) -> tuple[tuple[int, int], ...]:
    limits = tensor.attributes.integer_lists("shape_range")
    return tuple((pair[0], pair[1]) for pair in limits[:MAX_DIMS] if len(pair) == 2)


def _input(op: Op) -> TensorInfo:
    if not op.inputs:
        return TensorInfo(op.name, -1, -1, (), (), 0)
    tensor = op.inputs[0]
    shape = tensor.shape
    for name in ("_dynamic_aipp_input_dims", "_mbatch_origin_input_dims"):
        listed = op.attributes.integers(name)
        if listed:
            shape = listed
            break
    shape = _checked(shape, f"input {op.name!r}")
    dims_v2 = _checked(op.attributes.integers("input_dims") or shape, f"input {op.name!r}")
    size = None
    if op.outputs:
        size = op.outputs[0].attributes.integer("_special_input_size")
    if size is None or size <= 0:
        size = max(tensor.size, 0)
    pairs = () if "input_dims" in op.attributes else _ranges(tensor)
    return TensorInfo(op.name, acl_dtype(tensor.dtype), _layout(tensor), shape, dims_v2, size, pairs)


def _outputs(model: ModelDef, op: Op | None) -> tuple[tuple[TensorInfo, ...], dict[int, str]]:
    if op is None:
        return (), {}
    given = model.attributes.texts("attr_model_out_nodes_name")
    outputs, names = [], {}
    for i, tensor in enumerate(op.inputs):
        source = op.source_indices[i] if i < len(op.source_indices) else 0
        if len(given) == len(op.inputs):
            name = given[i] if ":" in given[i] else f"{given[i]}:{source}"
        else:
            name = f"output_{i}_{op.source_names[i] if i < len(op.source_names) else ''}_{source}"
        dims, dtype, layout = (
            _checked(tensor.shape, f"output {name!r}"),
            acl_dtype(tensor.dtype),
            _layout(tensor),
        )
        pairs = _ranges(tensor)
        if layout == _FRACTAL_Z and len(dims) == 4:
            dims = (dims[2], dims[3], dims[1], dims[0])
            pairs = (pairs[2], pairs[3], pairs[1], pairs[0]) if len(pairs) == 4 else ()
        size = tensor.attributes.integer("_special_output_size")
        if size is None or size <= 0:
            size = tensor_bytes(dims, dtype)
            size = size if size < 1 << 63 else 0
        outputs.append(TensorInfo(name, dtype, layout, dims, dims, size, pairs))
        original = tensor.attributes.text("_origin_output_tensor_name")
        if original:
            names[i] = original
    return tuple(outputs), names


def _with_gears(info: InOutInfo, op: Op, notes: list[str]) -> InOutInfo:
    """Add the gears that a Case (or, in 2020, StreamSwitchN) operator carries."""
    count = op.attributes.integer("_batch_num") or 0
    if not 0 < count <= MAX_GEARS:
        notes.append(f"operator {op.name!r} says it has {count} gears; they are not read")
        return info
    gears = []
    for number in range(count):
        gear = op.attributes.integers(f"_pred_value_{number}")
        if not gear:
            notes.append(f"operator {op.name!r} has no values for gear {number} of {count}")
            break
        gears.append(gear)
    if not gears:
        return info
    kind = op.attributes.integer("mbatch_dynamic_type")
    order = op.attributes.texts("user_designate_shape_order")
    lengths = {len(gear) for gear in gears}
    batch: tuple[int, ...] = ()
    hw: tuple[tuple[int, ...], ...] = ()
    dims: tuple[tuple[int, ...], ...] = ()
    if kind != 3 and lengths == {1}:
        batch = tuple(gear[0] for gear in gears)
    elif kind != 3 and lengths == {2}:
        hw = tuple(gears)
    else:
        if kind != 3:
            notes.append(
                f"gears of {sorted(lengths)[:4]} values are neither batch nor image size; ACL refuses them"
            )
        dims = tuple(gears)
    return InOutInfo(info.inputs, info.outputs, batch, hw, dims, info.output_shapes, order)
