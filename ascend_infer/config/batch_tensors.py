"""What ``batch_input`` and ``batch_output`` say, held against the model and the completed tensors."""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.shape_check import UNKNOWN_RANK
from ascend_infer.config.suggestions import quoted, similar
from ascend_infer.config.tensor_config import BatchInput, BatchInputKind, ModelInput, ModelOutput
from ascend_infer.config.tensor_matching import short_names
from ascend_infer.types import ModelSpec, TensorSpec

__all__ = ["check_batch_outputs", "check_ragged", "made_inputs"]


def check_ragged(tensor: ModelInput, spec: TensorSpec, path: str, label: str, findings: Findings) -> None:
    """Check that the model takes a ragged input as Triton hands it over: all requests' elements, one after another."""
    if spec.shape not in ((-1,), UNKNOWN_RANK):
        findings.error(
            f"{path}.allow_ragged_batch",
            f"{label}: a ragged input reaches the model as one flat array of any length",
            got=f"shape {list(spec.shape)} in the model file",
            expected="[-1]",
            hint="export the model for a flat input of any length, or leave allow_ragged_batch out",
        )


def made_inputs(config: ModelConfig, spec: ModelSpec, findings: Findings) -> dict[str, str]:
    """Return the model's own name of each input that a ``batch_input`` makes, and check that it can be made."""
    if not config.batch_input:
        return {}
    known = dict(zip(short_names(spec.inputs, spec.format == "om"), spec.inputs, strict=True))
    known |= {tensor.name: tensor for tensor in spec.inputs}
    asked = {tensor.name for tensor in config.input}
    found: dict[str, str] = {}
    for index, entry in enumerate(config.batch_input):
        path = f"batch_input[{index}]"
        _check_source(entry.source_input, asked, path, findings)
        for place, name in enumerate(entry.target_name):
            own = f"{path}.target_name[{place}]"
            target = known.get(name)
            if target is None:
                meant = similar(name, list(known))
                findings.error(
                    own,
                    f"unknown target input name '{name}'",
                    got=f"'{name}'",
                    expected=f"one of the model's inputs {quoted(tensor.name for tensor in spec.inputs)}",
                    hint=f"did you mean '{meant}'?" if meant else None,
                )
            elif name in found:
                findings.error(own, f"target input name '{name}' can only be specified once")
            elif name in asked:
                findings.error(
                    own,
                    f"'{name}' is made by batch_input and cannot be an input of requests too",
                    hint="delete the input",
                )
            else:
                found[name] = target.name
                _check_target(entry, target, own, findings)
    return found


def check_batch_outputs(config: ModelConfig, findings: Findings) -> None:
    """Check that the open dims of each output that ``batch_output`` cuts are dimensions of its source."""
    inputs = {tensor.name: tensor for tensor in config.input}
    outputs = {tensor.name: tensor for tensor in config.output}
    for index, entry in enumerate(config.batch_output):
        _check_source(entry.source_input, set(inputs), f"batch_output[{index}]", findings)
        for place, name in enumerate(entry.target_name):
            path = f"batch_output[{index}].target_name[{place}]"
            if name not in outputs:
                findings.error(
                    path,
                    f"unknown target output name '{name}'",
                    got=f"'{name}'",
                    expected=f"one of {quoted(outputs)}",
                )
                continue
            source = inputs.get(entry.source_input[0]) if entry.source_input else None
            if source is None:
                continue
            given, dims = _inner(source), _inner(outputs[name])
            open_dims = [axis for axis, dim in enumerate(dims) if dim == -1]
            if open_dims and open_dims[-1] >= len(given):
                findings.error(
                    path,
                    f"output '{name}' has an open dimension {open_dims[-1]}, which input '{source.name}' does not "
                    "have, and takes its size from there",
                    got=f"output dims {list(dims)}, input dims {list(given)}",
                    expected="-1 only where the input has the same dimension",
                )


def _inner(tensor: ModelInput | ModelOutput) -> tuple[int, ...]:
    return tensor.reshape.shape if tensor.reshape is not None else tensor.dims


def _check_source(sources: tuple[str, ...], inputs: set[str], path: str, findings: Findings) -> None:
    # The rules of the configuration alone know the inputs only where it states them.
    for place, name in enumerate(sources):
        field = f"{path}.source_input[{place}]"
        if name not in inputs:
            findings.error(
                field,
                f"unknown source input name '{name}'",
                got=f"'{name}'",
                expected=f"one of {quoted(inputs)}",
            )


def _check_target(entry: BatchInput, target: TensorSpec, path: str, findings: Findings) -> None:
    if entry.data_type is not None and target.dtype is not entry.data_type:
        findings.error(
            path,
            f"'{target.name}' has another data type in the model file than its batch_input",
            got=entry.data_type.config_name,
            expected=target.dtype.config_name or target.dtype.value,
        )
    rank = 2 if entry.kind is BatchInputKind.BATCH_ITEM_SHAPE else 1
    if target.shape != UNKNOWN_RANK and len(target.shape) != rank:
        findings.error(
            path,
            f"batch input kind '{entry.kind.value}' makes a tensor of {rank} dimension{'s' if rank > 1 else ''}",
            got=f"'{target.name}' with shape {list(target.shape)} in the model file",
            expected=str([-1] * rank),
        )
