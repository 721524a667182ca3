"""Rules of inputs and outputs: names, dims, reshape, and the tensors made for a batch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.suggestions import quoted, similar
from ascend_infer.config.tensor_config import ModelInput, ModelInputFormat, ModelOutput
from ascend_infer.types import DataType

__all__ = ["check_stated_tensors", "check_tensors_complete"]

_DIMENSION = "an integer >= 1, or -1 to indicate a variable-size dimension"


def check_stated_tensors(config: ModelConfig, findings: Findings) -> None:
    """Check what the configuration says of its tensors; what it leaves out may come from the model file."""
    for kind, tensors in _both(config):
        _check_names(kind, tensors, findings)
        for index, tensor in enumerate(tensors):
            path = f"{kind}[{index}]"
            label = f"model {kind} '{tensor.name}'" if tensor.name else f"model {kind} {index}"
            _check_dimensions(tensor.dims, f"{path}.dims", f"{label} dimension", findings)
            _check_reshape(tensor, config, path, label, findings)
            _check_tensorrt_only(tensor, config, path, label, findings)
            if isinstance(tensor, ModelInput):
                _check_input(tensor, config, path, label, findings)
    if config.input and not config.output and config.ensemble_scheduling is None:
        findings.warning("", "the configuration states inputs and no output")
    _check_batch_tensors(config, findings)


def check_tensors_complete(config: ModelConfig, findings: Findings) -> None:
    """Check that nothing is left out any more: each tensor has a name, a data type and dims."""
    for kind, tensors in _both(config):
        for index, tensor in enumerate(tensors):
            path = f"{kind}[{index}]"
            if not tensor.name:
                findings.error(path, f"model {kind} must specify 'name'", hint='add name: "..."')
            label = f"model {kind} '{tensor.name}'" if tensor.name else f"model {kind} {index}"
            if tensor.data_type is None:
                findings.error(
                    path, f"{label} must specify 'data_type'", hint="add data_type: TYPE_FP32 or another type"
                )
            if not tensor.dims:
                findings.error(path, f"{label} must specify 'dims'", hint="add dims: [ ... ]")


def _both(
    config: ModelConfig,
) -> tuple[tuple[str, Sequence[ModelInput | ModelOutput]], ...]:
    return ("input", config.input), ("output", config.output)


def _check_names(kind: str, tensors: Sequence[ModelInput | ModelOutput], findings: Findings) -> None:
    seen: dict[str, int] = {}
    for index, tensor in enumerate(tensors):
        first = seen.setdefault(tensor.name, index)
        if tensor.name and first != index:
            findings.error(
                f"{kind}[{index}].name",
                f"two {kind}s are named '{tensor.name}'",
                got=f"'{tensor.name}'",
                expected=f"a name that {kind}[{first}] does not have",
            )


def _check_dimensions(dims: Sequence[int], path: str, label: str, findings: Findings) -> bool:
    right = True
    for index, dim in enumerate(dims):
        if dim == 0 or dim < -1:
            findings.error(f"{path}[{index}]", f"{label} must be {_DIMENSION}", got=dim, expected=_DIMENSION)
            right = False
    return right


def _check_reshape(
    tensor: ModelInput | ModelOutput, config: ModelConfig, path: str, label: str, findings: Findings
) -> None:
    if tensor.reshape is None:
        return
    shape, own = tensor.reshape.shape, f"{path}.reshape"
    if not shape and config.max_batch_size == 0:
        findings.warning(
            own,
            f"{label} has an empty reshape without batching: a scalar; Triton itself refuses this",
            expected="a reshape of at least one dimension for Triton",
        )
    if not _check_dimensions(shape, f"{own}.shape", f"{label} reshape dimensions", findings):
        return
    if not tensor.dims or any(dim == 0 or dim < -1 for dim in tensor.dims):
        return
    dims_text, shape_text = list(tensor.dims), list(shape)
    if tensor.dims.count(-1) != shape.count(-1):
        findings.error(
            f"{own}.shape",
            f"{label} has different number of variable-size dimensions for dims and reshape",
            got=shape_text,
            expected=f"as many -1 as in {dims_text}",
        )
    elif _products(tensor.dims) != _products(shape):
        findings.error(
            f"{own}.shape",
            f"{label} has different size for dims and reshape",
            got=f"{shape_text} ({_count(shape)} elements)",
            expected=f"as many elements as {dims_text} ({_count(tensor.dims)})",
        )


def _products(dims: Sequence[int]) -> list[int]:
    """Return the product of each run between variable dimensions: [2, 4, -1, 6] gives [8, 6]."""
    runs: list[list[int]] = [[]]
    for dim in dims:
        if dim == -1:
            runs.append([])
        else:
            runs[-1].append(dim)
    return [math.prod(run) for run in runs]


def _count(dims: Sequence[int]) -> str:
    return " x n x ".join(str(product) for product in _products(dims))


def _check_tensorrt_only(
    tensor: ModelInput | ModelOutput, config: ModelConfig, path: str, label: str, findings: Findings
) -> None:
    if config.platform == "tensorrt_plan" or config.backend == "tensorrt":
        return
    if tensor.is_shape_tensor:
        findings.error(
            f"{path}.is_shape_tensor",
            f"{label}: shape tensors are only supported for the TensorRT platform",
            hint="delete the line",
        )
    if tensor.is_non_linear_format_io:
        findings.error(
            f"{path}.is_non_linear_format_io",
            f"{label}: non-linear IO format is only supported for the TensorRT platform",
            hint="delete the line",
        )


def _check_input(tensor: ModelInput, config: ModelConfig, path: str, label: str, findings: Findings) -> None:
    if tensor.format is not ModelInputFormat.FORMAT_NONE and tensor.dims and len(tensor.dims) != 3:
        batch = len(tensor.dims) == 4 and config.max_batch_size > 0
        findings.error(
            f"{path}.dims",
            f"{label}: NHWC/NCHW require 3 dims",
            got=list(tensor.dims),
            expected="[height, width, channels] or [channels, height, width]",
            hint="leave out the batch dimension, max_batch_size stands for it" if batch else None,
        )
    if (
        tensor.format is ModelInputFormat.FORMAT_NONE
        and config.max_batch_size > 0
        and len(tensor.dims) == 4
        and tensor.dims[0] == -1
    ):
        findings.warning(
            f"{path}.dims",
            f"{label}: the first of four dims is -1 although max_batch_size is {config.max_batch_size}, "
            f"so requests have the shape [batch, -1, ...] with five dimensions",
            got=list(tensor.dims),
            expected=f"dims without the batch: {list(tensor.dims[1:])}",
            hint=f"write dims: {list(tensor.dims[1:])} if -1 is the batch",
        )


def _check_batch_tensors(config: ModelConfig, findings: Findings) -> None:
    inputs = [tensor.name for tensor in config.input if tensor.name]
    outputs = [tensor.name for tensor in config.output if tensor.name]
    for index, batch_input in enumerate(config.batch_input):
        path = f"batch_input[{index}]"
        kind = batch_input.kind.value
        _check_sources(batch_input.source_input, inputs, f"batch input kind '{kind}'", path, findings)
        if batch_input.data_type not in (DataType.INT32, DataType.FP32):
            got = batch_input.data_type.config_name if batch_input.data_type else "nothing"
            findings.error(
                f"{path}.data_type",
                "a batch input has data type TYPE_INT32 or TYPE_FP32",
                got=got,
                expected="TYPE_INT32 or TYPE_FP32",
            )
        if not batch_input.target_name:
            findings.error(path, f"batch input kind '{kind}' must specify 'target_name'")
    for index, batch_output in enumerate(config.batch_output):
        path = f"batch_output[{index}]"
        kind = batch_output.kind.value
        _check_sources(batch_output.source_input, inputs, f"batch output kind '{kind}'", path, findings)
        seen: set[str] = set()
        for place, name in enumerate(batch_output.target_name):
            own = f"{path}.target_name[{place}]"
            if name in seen:
                findings.error(own, f"target output name '{name}' can only be specified once")
            elif outputs and name not in outputs:
                meant = similar(name, outputs)
                findings.error(
                    own,
                    f"unknown target output name '{name}'",
                    got=f"'{name}'",
                    expected=f"one of {quoted(outputs)}",
                    hint=f"did you mean '{meant}'?" if meant else None,
                )
            seen.add(name)


def _check_sources(
    sources: Sequence[str], inputs: list[str], label: str, path: str, findings: Findings
) -> None:
    if len(sources) != 1:
        findings.error(
            f"{path}.source_input",
            f"{label} expects 1 source input, got {len(sources)}",
            got=len(sources),
            expected="1",
        )
    for index, name in enumerate(sources):
        if inputs and name not in inputs:
            meant = similar(name, inputs)
            findings.error(
                f"{path}.source_input[{index}]",
                f"unknown source input name '{name}'",
                got=f"'{name}'",
                expected=f"one of {quoted(inputs)}",
                hint=f"did you mean '{meant}'?" if meant else None,
            )
