"""Putting a model's description together from what its partitions say."""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import Literal

from ascend_infer.om.attributes import Attributes
from ascend_infer.om.gears import GearInput, OmGear, gear_list, gears_of
from ascend_infer.om.graph_io import AIPP_DATA, SHAPE_DATA, GraphIo
from ascend_infer.om.inout import InOutInfo, TensorInfo
from ascend_infer.om.model import OmTensor, trailing_name

__all__ = ["compare", "dynamic_kind", "model_attributes", "tensors_and_gears", "with_gears_of"]

_TABLES = frozenset({"attr_name_enum", "attr_value_enum", "attrs_use_string_value"})
_MAX_ATTRIBUTE = 65536
_MAX_DIFFERENCES = 16


def tensors_and_gears(
    info: InOutInfo, graph: GraphIo | None
) -> tuple[tuple[OmTensor, ...], tuple[OmTensor, ...], tuple[OmGear, ...], list[str]]:
    """Return inputs, outputs, gears and notes.

    Parameters
    ----------
    info : InOutInfo
        The description to show.
    graph : GraphIo or None
        What only the graph knows: AIPP, ONNX names, hidden inputs. Tensors are matched by position.
    """
    has_gears = bool(info.batch_gears or info.hw_gears or info.dims_gears)
    inputs = []
    for i, tensor in enumerate(info.inputs):
        hidden = tensor.name == AIPP_DATA or (has_gears and tensor.name == SHAPE_DATA)
        if graph is not None and i in graph.hidden:
            hidden = True
        aipp = None if graph is None else graph.aipp.get(i)
        inputs.append(_tensor(tensor, tensor.name, hidden, None if hidden else aipp))
    outputs = []
    for i, tensor in enumerate(info.outputs):
        name = trailing_name(tensor.name)
        if graph is not None:
            name = graph.onnx_names.get(i, name)
        outputs.append(_tensor(tensor, name))
    visible = [GearInput(t.name, t.dims_v2, t.aipp) for t in inputs if not t.is_hidden]
    gears, notes = gears_of(info, visible)
    return tuple(inputs), tuple(outputs), gears, notes


def _tensor(info: TensorInfo, onnx_name: str, hidden: bool = False, aipp: object = None) -> OmTensor:
    return OmTensor(
        info.name, onnx_name, info.dtype, info.format, info.dims, info.dims_v2, info.size,
        info.shape_range, hidden, aipp,  # type: ignore[arg-type]
    )  # fmt: skip


def dynamic_kind(
    gears: tuple[OmGear, ...], inputs: tuple[OmTensor, ...], *, is_dynamic: bool
) -> Literal["static", "batch", "hw", "dims", "shape"]:
    """Tell how a model's shapes vary."""
    if gears:
        return gears[0].kind
    open_dims = any(dim < 0 for tensor in inputs if not tensor.is_hidden for dim in tensor.dims_v2)
    return "shape" if is_dynamic or open_dims else "static"


def with_gears_of(described: InOutInfo, derived: InOutInfo) -> InOutInfo:
    """Take gears from the graph when the description has none: a loaded model has the graph's."""
    if gear_list(described) is not None or gear_list(derived) is None:
        return described
    return replace(
        described, batch_gears=derived.batch_gears, hw_gears=derived.hw_gears, dims_gears=derived.dims_gears,
        output_shapes=derived.output_shapes, shape_order=derived.shape_order,
    )  # fmt: skip


def compare(described: InOutInfo, derived: InOutInfo, *, is_dynamic: bool = False) -> tuple[str, ...]:
    """Return where MODEL_INOUT_INFO and the graph disagree, a sentence for each place.

    Graphs of dynamic shape do not keep sizes: a size of 0 there is no disagreement.
    """
    found = []
    for kind, left, right in (
        ("input", described.inputs, derived.inputs),
        ("output", described.outputs, derived.outputs),
    ):
        if len(left) != len(right):
            found.append(f"{len(left)} {kind}s in MODEL_INOUT_INFO, {len(right)} in the graph")
            continue
        for i, (a, b) in enumerate(zip(left, right, strict=True)):
            if a == b:
                continue
            for item in dataclass_fields(TensorInfo):
                x, y = getattr(a, item.name), getattr(b, item.name)
                if x != y and not (is_dynamic and item.name == "size" and y == 0):
                    found.append(f"{kind} {i}: {item.name} is {x!r} in MODEL_INOUT_INFO, {y!r} in the graph")
            if len(found) > _MAX_DIFFERENCES:
                return (*found[:_MAX_DIFFERENCES], "and more")
    found += [
        f"{name.replace('_', ' ')} differ between MODEL_INOUT_INFO and the graph"
        for name in ("batch_gears", "hw_gears", "dims_gears", "output_shapes", "shape_order")
        if getattr(described, name) != getattr(derived, name)
    ]
    return tuple(found[:_MAX_DIFFERENCES])


def model_attributes(attributes: Attributes) -> dict[str, str]:
    """Return the attributes that are single values or short lists of integers, as text."""
    found = {}
    for name in attributes:
        if name in _TABLES:
            continue
        value = attributes.scalar(name)
        if value is None and name == "om_info_list":
            value = ", ".join(map(str, (attributes.integers(name) or ())[:16]))
        if isinstance(value, bool):
            value = str(value).lower()
        text = "" if value is None else str(value)
        if text and len(text) <= _MAX_ATTRIBUTE:
            found[name] = text
    return dict(sorted(found.items()))
