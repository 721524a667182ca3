"""An .om model's signature in the library's own words: what a caller feeds and gets."""

from __future__ import annotations

from ascend_infer.om.damage import file_error
from ascend_infer.om.gears import Dims
from ascend_infer.om.model import OmModel, OmTensor
from ascend_infer.types import ModelSpec, TensorSpec

__all__ = ["model_spec"]


def model_spec(model: OmModel) -> ModelSpec:
    """Return the signature; :meth:`OmModel.spec` documents it."""
    if model.kind == "bundle":
        raise file_error(
            model.path, f"is a bundle of {len(model.members)} models, which has no signature of its own",
            "Convert the model you need on its own; bundles load through aclmdlBundleLoadFromFile only.",
        )  # fmt: skip
    if model.kind == "flow":
        raise file_error(
            model.path, "is a flow model (DFlow), which ACL's model interface does not load",
            "Convert the model with atc without a flow graph.",
        )  # fmt: skip
    if not model.outputs:
        raise file_error(
            model.path, "says nothing of its outputs", "Convert the model again with a current atc."
        )
    filled = [gear.output_dims for gear in model.gears if gear.output_dims is not None]
    per_gear = filled if len(filled) == len(model.gears) else []
    largest = max((gear.values[0] for gear in model.gears), default=0) if model.dynamic == "batch" else 0
    visible = [tensor for tensor in model.inputs if not tensor.is_hidden]
    inputs = tuple(_spec(model, tensor, tensor.dims_v2) for tensor in visible)
    outputs = tuple(
        _spec(model, tensor, _output_shape(tensor.dims, [dims[i] for dims in per_gear], largest))
        for i, tensor in enumerate(model.outputs)
    )
    return ModelSpec(
        format="om",
        inputs=inputs,
        outputs=outputs,
        gears=tuple(gear.gear for gear in model.gears),
        metadata=_metadata(model),
    )


def _spec(model: OmModel, tensor: OmTensor, shape: tuple[int, ...]) -> TensorSpec:
    if tensor.dtype is None:
        raise file_error(
            model.path,
            f"tensor {tensor.name!r} has element type {tensor.dtype_name}, which numpy does not have",
            "Convert the model with --input_fp16_nodes / --output_type or a Cast at that end.",
        )  # fmt: skip
    return TensorSpec(tensor.name, tensor.dtype, shape)


def _output_shape(dims: Dims, per_gear: list[Dims], largest_batch: int) -> Dims:
    """Open the dimensions that differ between gears, or an unlisted batch that is the largest gear's."""
    if per_gear and all(len(shape) == len(dims) for shape in per_gear):
        return tuple(sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*per_gear, strict=True))
    return (-1, *dims[1:]) if dims and dims[0] == largest_batch else dims


def _metadata(model: OmModel) -> dict[str, str]:
    known = {
        "name": model.name,
        "soc_version": model.soc_version,
        "cann_version": model.cann_version,
        "atc_version": model.atc_version,
        "framework": model.framework,
        "command_line": model.command_line,
        "dynamic": model.dynamic,
        "work_size": str(model.work_size),
        "weight_size": str(model.weight_size),
    }
    if model.is_simulator_model:
        known["simulator"] = "true"
        known["simulated_soc"] = str((model.simulator or {}).get("soc", ""))
    return {key: value for key, value in known.items() if value}
