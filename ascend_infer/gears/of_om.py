"""The sizes of a model as its .om file states them."""

from __future__ import annotations

from ascend_infer.errors import ModelFileError
from ascend_infer.gears.sizes import CompiledSize, ModelSizes, SizedInput, SizedOutput
from ascend_infer.om import OmModel
from ascend_infer.om.model import OmTensor
from ascend_infer.types import DataType

__all__ = ["sizes_of_om"]


def sizes_of_om(model: OmModel, *, batched: bool | None = None) -> ModelSizes:
    """Return which sizes a model runs in.

    Parameters
    ----------
    model : OmModel
    batched : bool, optional
        Whether the first axis counts independent rows: the configuration's ``max_batch_size`` is above 0. By
        default only for batch gears, where ``atc --dynamic_batch_size`` says that it does.

    Raises
    ------
    ModelFileError
        When a gear's values do not match the inputs' open dimensions, or an element type has no numpy
        counterpart.
    """
    fed = [tensor for tensor in model.inputs if not tensor.is_hidden]
    inputs = tuple(SizedInput(t.name, _dtype(model, t), t.dims_v2, t.shape_range) for t in fed)
    outputs = tuple(SizedOutput(t.name, t.onnx_name if t.onnx_name != t.name else "") for t in model.outputs)
    if batched is None:
        batched = model.dynamic == "batch"
    sizes: tuple[CompiledSize, ...] = ()
    if model.gears:
        sizes = tuple(
            CompiledSize(gear.gear, gear.input_dims, gear.output_dims)
            for gear in model.gears
            if gear.input_dims is not None
        )
        if len(sizes) != len(model.gears):
            values = next(gear.values for gear in model.gears if gear.input_dims is None)
            reason = f"its gear {list(values)} does not match the open dimensions of its inputs"
            remedy = "Compile the model again with a current atc."
            raise ModelFileError(
                f"{model.path or 'the model'}: {reason}. {remedy}", path=model.path, reason=reason
            )
    elif model.dynamic == "static":
        sizes = (CompiledSize(None, tuple(t.dims for t in inputs), tuple(t.dims for t in model.outputs)),)
    return ModelSizes(model.dynamic, inputs, outputs, sizes, batched, _order(model, inputs))


def _dtype(model: OmModel, tensor: OmTensor) -> DataType:
    if tensor.dtype is None:
        reason = f"input {tensor.name!r} has element type {tensor.dtype_name}, which numpy does not have"
        raise ModelFileError(f"{model.path or 'the model'}: {reason}", path=model.path, reason=reason)
    return tensor.dtype


def _order(model: OmModel, inputs: tuple[SizedInput, ...]) -> tuple[tuple[int, int], ...]:
    """Return the input and axis of each value of a gear; empty where that is not known."""
    open_axes = [
        [(number, axis) for axis, dim in enumerate(tensor.dims) if dim == -1]
        for number, tensor in enumerate(inputs)
    ]
    if model.dynamic in ("batch", "hw"):
        return tuple(next((axes for axes in open_axes if axes), ()))
    if model.dynamic != "dims":
        return ()
    info = model.inout_info or model.graph_info
    named = {tensor.name: number for number, tensor in enumerate(inputs)}
    first = [named[name] for name in (info.shape_order if info else ()) if name in named]
    sequence = dict.fromkeys([*first, *range(len(inputs))])
    return tuple(place for number in sequence for place in open_axes[number])
