"""Filling in from the model file what a configuration leaves out, and checking what it states against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ascend_infer.config.batch_size import Batching, batching_of, check_batch_size
from ascend_infer.config.batch_tensors import check_batch_outputs, check_ragged, made_inputs
from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.normalise import normalise
from ascend_infer.config.parse import ParsedConfig
from ascend_infer.config.rules import check_tensors_complete
from ascend_infer.config.scheduling_config import ModelDynamicBatching
from ascend_infer.config.shape_check import UNKNOWN_RANK, check_shape
from ascend_infer.config.suggestions import quoted
from ascend_infer.config.tensor_config import ModelInput, ModelOutput, ModelTensorReshape
from ascend_infer.config.tensor_matching import TensorMatch, match_tensors, short_names
from ascend_infer.diagnostic import Diagnostic
from ascend_infer.types import ModelSpec, TensorSpec

__all__ = ["Completed", "complete"]

Tensor = TypeVar("Tensor", ModelInput, ModelOutput)


@dataclass(frozen=True, slots=True)
class Completed:
    """A configuration in which nothing is left out.

    Attributes
    ----------
    config : ModelConfig
        Every input and output with name, data type and dims.
    input_names, output_names : dict of str to str
        The model's own name of each tensor by the configuration's. Inputs that the scheduler feeds (sequence
        controls, states, batch inputs) are not in it.
    relaxed : tuple of str
        Names of tensors with a dimension that the configuration leaves open and the model file fixes: their
        declared shape is no promise.
    diagnostics : tuple of Diagnostic
        Warnings.
    made_inputs : dict of str to str
        The model's own name of each input that a ``batch_input`` makes.
    """

    config: ModelConfig
    input_names: dict[str, str]
    output_names: dict[str, str]
    relaxed: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    made_inputs: Mapping[str, str] = field(default_factory=dict)


def complete(
    config: ModelConfig,
    spec: ModelSpec,
    *,
    parsed: ParsedConfig | None = None,
    keep_batch_size: bool = False,
) -> Completed:
    """Complete a configuration from the signature of its model file.

    Parameters
    ----------
    config : ModelConfig
        As `parse_config` returns it.
    spec : ModelSpec
        Of the .onnx or .om file.
    parsed : ParsedConfig, optional
        Where ``config`` comes from: gives errors their line, and tells an explicit ``max_batch_size: 0`` from
        one that is left out.
    keep_batch_size : bool, optional
        ``config.max_batch_size`` is what was asked for, wherever that stands: 0 and all.

    Raises
    ------
    ConfigError
        When a name, count, data type or shape contradicts the model, or the model cannot batch and should.

    Notes
    -----
    A configuration that states neither tensors nor max_batch_size gets Triton's default batch size of 4 (the
    largest gear of a .om that has batch gears) and a dynamic batcher, provided that every tensor of the model
    begins with -1. Opens no file; safe from any thread.
    """
    findings = parsed.findings() if parsed is not None else Findings()
    batching = batching_of(spec)
    stated = "max_batch_size" in findings.positions if parsed is not None else config.max_batch_size != 0
    if not (stated or keep_batch_size) and not config.input and not config.output:
        config = _with_batching(config, batching)
    check_batch_size(config, spec, batching, findings)
    outside_inputs, outside_outputs = _scheduler_tensors(config)
    inputs, input_names, relaxed_inputs = _complete_tensors(
        "input", config.input, spec.inputs, outside_inputs, config, spec, findings
    )
    outputs, output_names, relaxed_outputs = _complete_tensors(
        "output", config.output, spec.outputs, outside_outputs, config, spec, findings
    )
    config = normalise(replace(config, input=inputs, output=outputs))
    made = made_inputs(config, spec, findings)
    check_batch_outputs(config, findings)
    if not findings.errors:
        check_tensors_complete(config, findings)
    findings.raise_if_errors(findings.file or config.name or "model configuration")
    return Completed(
        config,
        input_names,
        output_names,
        (*relaxed_inputs, *relaxed_outputs),
        tuple(findings.diagnostics),
        made,
    )


def _with_batching(config: ModelConfig, batching: Batching) -> ModelConfig:
    largest = batching.largest
    if largest == 0:
        return config
    unscheduled = config.sequence_batching is None and config.dynamic_batching is None
    if largest > 1 and unscheduled:
        return replace(config, max_batch_size=largest, dynamic_batching=ModelDynamicBatching())
    return replace(config, max_batch_size=largest)


def _scheduler_tensors(config: ModelConfig) -> tuple[set[str], set[str]]:
    """Return the names of the model's inputs and outputs that the scheduler feeds and keeps."""
    inputs = {name for batch_input in config.batch_input for name in batch_input.target_name}
    outputs: set[str] = set()
    sequence = config.sequence_batching
    if sequence is not None:
        inputs |= {control.name for control in sequence.control_input}
        inputs |= {state.input_name for state in sequence.state}
        outputs |= {state.output_name for state in sequence.state}
    return inputs, outputs


def _complete_tensors(
    kind: str,
    tensors: tuple[Tensor, ...],
    specs: Sequence[TensorSpec],
    outside: set[str],
    config: ModelConfig,
    spec: ModelSpec,
    findings: Findings,
) -> tuple[tuple[Tensor, ...], dict[str, str], list[str]]:
    om = spec.format == "om"
    shorts = short_names(specs, om)
    stated = {tensor.name for tensor in tensors}
    own = [
        tensor
        for tensor, short in zip(specs, shorts, strict=True)
        if not ({tensor.name, short} & (outside - stated))
    ]
    if not tensors:
        matches = [
            TensorMatch(-1, name, tensor) for name, tensor in zip(short_names(own, om), own, strict=True)
        ]
    else:
        if kind == "input" and not _right_count(tensors, own, findings):
            return tensors, {}, []
        if any(
            _is_no_tensor(kind, index, tensor.name, spec, findings) for index, tensor in enumerate(tensors)
        ):
            return tensors, {}, []
        matches = match_tensors(kind, [tensor.name for tensor in tensors], own, om, findings)
    completed = list(tensors)
    relaxed = []
    blank: Tensor = ModelInput() if kind == "input" else ModelOutput()  # type: ignore[assignment]
    for match in matches:
        tensor = tensors[match.index] if match.index >= 0 else blank
        index = match.index if match.index >= 0 else len(completed)
        filled, open_dims = _complete_tensor(kind, index, tensor, match, config, findings)
        if open_dims:
            relaxed.append(match.name)
        if match.index >= 0:
            completed[match.index] = filled
        else:
            completed.append(filled)
    return tuple(completed), {match.name: match.spec.name for match in matches}, relaxed


def _is_no_tensor(kind: str, index: int, name: str, spec: ModelSpec, findings: Findings) -> bool:
    if name not in spec.not_tensors:
        return False
    findings.error(
        f"{kind}[{index}].name",
        f"'{name}' of the model is a {spec.not_tensors[name]}, not a tensor, and cannot be had",
        got=f"'{name}'",
        expected=f"one of {quoted(tensor.name for tensor in spec.outputs)}",
    )
    return True


def _right_count(
    tensors: Sequence[ModelInput | ModelOutput], specs: Sequence[TensorSpec], findings: Findings
) -> bool:
    required = [spec for spec in specs if not spec.optional]
    if len(required) <= len(tensors) <= len(specs):
        return True
    names = {tensor.name for tensor in tensors}
    missing = [spec.name for spec in required if spec.name not in names]
    findings.error(
        "input",
        f"configuration expects {len(tensors)} inputs, model provides {len(specs)}",
        got=quoted(tensor.name for tensor in tensors),
        expected=quoted(spec.name for spec in specs),
        hint=f"add {quoted(missing)}" if missing and len(tensors) < len(specs) else None,
    )
    return False


def _complete_tensor(
    kind: str, index: int, tensor: Tensor, match: TensorMatch, config: ModelConfig, findings: Findings
) -> tuple[Tensor, bool]:
    """Fill in one tensor; returns it and whether it leaves a dimension open that the model fixes."""
    path, label = f"{kind}[{index}]", f"model {kind} '{match.name}'"
    spec = match.spec
    changes: dict[str, object] = {"name": match.name}
    if tensor.data_type is None:
        if spec.dtype.config_name is None:
            findings.error(path, f"{label} has data type {spec.dtype}, which no configuration can name")
        changes["data_type"] = spec.dtype
    elif tensor.data_type is not spec.dtype:
        findings.error(
            f"{path}.data_type",
            f"{label} has another data type in the model file",
            got=tensor.data_type.config_name,
            expected=spec.dtype.config_name or spec.dtype.value,
            hint=f"write data_type: {spec.dtype.config_name}" if spec.dtype.config_name else None,
        )
    open_dims = False
    if isinstance(tensor, ModelInput) and tensor.allow_ragged_batch:
        # It reaches the model as one flat dimension, whatever its dims are.
        check_ragged(tensor, spec, path, label, findings)
        changes["dims"] = tensor.dims or (-1,)
    elif any(match.name in entry.target_name for entry in config.batch_output) and kind == "output":
        # The model's own first dimension, if any, is not the requests' batch.
        if not tensor.dims:
            changes.update(_dims_from(spec.shape, False, path, label, findings))
    elif not tensor.dims:
        changes.update(_dims_from(spec.shape, config.max_batch_size > 0, path, label, findings))
    else:
        open_dims = check_shape(tensor, spec.shape, config.max_batch_size, path, label, findings)
    return replace(tensor, **changes), open_dims  # type: ignore[arg-type]


def _dims_from(
    shape: tuple[int, ...], batch: bool, path: str, label: str, findings: Findings
) -> dict[str, object]:
    if shape == UNKNOWN_RANK:
        findings.error(
            path,
            f"{label} must specify 'dims': the model file does not say its rank",
            expected="dims: [ ... ]",
        )
        return {}
    dims = shape[1:] if batch else shape
    if 0 in dims:
        findings.error(
            path,
            f"{label} has a dimension of 0 in the model file",
            got=list(shape),
            expected="1 or more, or -1",
        )
    if not dims:
        return {"dims": (1,), "reshape": ModelTensorReshape()}
    return {"dims": dims}
