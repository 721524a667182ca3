"""Rules of warm-up requests that need no file."""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig, ModelWarmup
from ascend_infer.config.suggestions import quoted, similar

__all__ = ["check_warmup"]


def check_warmup(config: ModelConfig, findings: Findings) -> None:
    """Check each warm-up: its size, its inputs, their types, dims and data."""
    for index, warmup in enumerate(config.model_warmup):
        _check_sample(config, warmup, f"model_warmup[{index}]", findings)


def _check_sample(config: ModelConfig, warmup: ModelWarmup, path: str, findings: Findings) -> None:
    if warmup.batch_size == 0:
        findings.warning(path, f"warm-up '{warmup.name}' has batch_size 0 and is skipped")
    if config.max_batch_size > 0 and warmup.batch_size > config.max_batch_size:
        findings.error(
            f"{path}.batch_size",
            f"warm-up '{warmup.name}' has a larger batch than the model",
            got=warmup.batch_size,
            expected=f"at most {config.max_batch_size}",
        )
    if config.max_batch_size == 0 and warmup.batch_size > 1:
        findings.warning(
            f"{path}.batch_size",
            f"warm-up '{warmup.name}' has batch_size {warmup.batch_size}, and the model does not batch",
        )
    known = {tensor.name: tensor for tensor in config.input if tensor.name}
    for name, data in warmup.inputs.items():
        own = f'{path}.inputs["{name}"]'
        if known and name not in known:
            meant = similar(name, known)
            findings.error(
                own,
                f"unexpected inference input '{name}' in warm-up '{warmup.name}'",
                got=f"'{name}'",
                expected=f"one of {quoted(known)}",
                hint=f"did you mean '{meant}'?" if meant else None,
            )
        if data.zero_data is None and data.random_data is None and data.input_data_file is None:
            findings.error(
                own,
                f"warm-up '{warmup.name}' expects input '{name}' to have input_data_type set",
                expected="zero_data: true, random_data: true or input_data_file",
            )
        open_dims = any(dim < 1 for dim in data.dims)
        if open_dims:
            findings.error(
                f"{own}.dims",
                f"warm-up '{warmup.name}' expects all variable-size dimensions are specified for '{name}'",
                got=list(data.dims),
                expected="dims of 1 or more",
            )
        tensor = known.get(name)
        if data.data_type is None:
            findings.error(own, f"warm-up '{warmup.name}' must specify 'data_type' of input '{name}'")
        elif tensor is not None and tensor.data_type not in (None, data.data_type):
            assert tensor.data_type is not None
            findings.error(
                f"{own}.data_type",
                f"warm-up '{warmup.name}': input '{name}' has another data type than the model's",
                got=data.data_type.config_name,
                expected=tensor.data_type.config_name,
            )
        stated = tensor is not None and tensor.dims and data.dims and not open_dims
        if tensor is not None and stated and not _fits(data.dims, tensor.dims):
            findings.error(
                f"{own}.dims",
                f"warm-up '{warmup.name}': input '{name}' has another shape than the model's",
                got=list(data.dims),
                expected=str(list(tensor.dims)),
            )
    missing = [name for name, tensor in known.items() if name not in warmup.inputs and not tensor.optional]
    if missing and warmup.batch_size:
        findings.error(
            path,
            f"warm-up '{warmup.name}' lacks the required input {quoted(missing)}",
            got=quoted(warmup.inputs),
            expected=f"{len(known)} inputs: {quoted(known)}",
        )


def _fits(dims: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return len(dims) == len(wanted) and all(
        want == -1 or have == want for have, want in zip(dims, wanted, strict=True)
    )
