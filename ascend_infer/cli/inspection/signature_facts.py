"""A model's inputs and outputs as tensors to show, from its file alone or from its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_infer.cli.inspection.described_file import DescribedFile
from ascend_infer.cli.inspection.subject import Subject
from ascend_infer.cli.inspection.tensor import Tensor
from ascend_infer.config import Completed, ModelConfig
from ascend_infer.config.tensor_config import ModelInput, ModelOutput
from ascend_infer.config.tensor_matching import short_names
from ascend_infer.om import OmModel
from ascend_infer.types import TensorSpec

__all__ = ["bare_tensors", "config_tensors"]

_Tensors = tuple[tuple[Tensor, ...], tuple[Tensor, ...]]


def bare_tensors(file: DescribedFile) -> _Tensors:
    """Return inputs and outputs as the model file states them."""
    spec = file.spec
    if spec is None:
        return (), ()
    remarks = _aipp_remarks(file)

    def shown(tensors: Sequence[TensorSpec]) -> tuple[Tensor, ...]:
        names = short_names(tensors, spec.format == "om")
        return tuple(
            Tensor(
                name,
                tensor.name,
                tensor.dtype,
                tensor.shape,
                dim_names=tensor.dim_names,
                optional=tensor.optional,
                remark=remarks.get(tensor.name, ""),
            )
            for name, tensor in zip(names, tensors, strict=True)
        )

    return shown(spec.inputs), shown(spec.outputs)


def config_tensors(subject: Subject, config: ModelConfig, completed: Completed | None) -> _Tensors:
    """Return inputs and outputs as the configuration states them, with what only the model file knows.

    Raises
    ------
    ConfigError
        When a label file is missing.
    """
    file = subject.primary if completed is not None else None
    spec = file.spec if file is not None else None
    inputs = {tensor.name: tensor for tensor in spec.inputs} if spec is not None else {}
    outputs = {tensor.name: tensor for tensor in spec.outputs} if spec is not None else {}
    remarks = {} if file is None else _aipp_remarks(file)
    return (
        tuple(
            _tensor(tensor, config, completed.input_names if completed else {}, inputs, remarks, None)
            for tensor in config.input
        ),
        tuple(
            _tensor(
                tensor,
                config,
                completed.output_names if completed else {},
                outputs,
                {},
                _labels(subject, tensor),
            )
            for tensor in config.output
        ),
    )


def _tensor(
    tensor: ModelInput | ModelOutput,
    config: ModelConfig,
    names: Mapping[str, str],
    specs: Mapping[str, TensorSpec],
    remarks: Mapping[str, str],
    labels: tuple[str, int] | None,
) -> Tensor:
    model_name = names.get(tensor.name, tensor.name)
    spec = specs.get(model_name)
    dims, dim_names = tensor.dims, spec.dim_names if spec is not None else ()
    if config.max_batch_size:
        dim_names = dim_names[1:]
    if spec is not None and spec.shape == (-2,):
        dims = (-2,)
    return Tensor(
        tensor.name,
        model_name,
        tensor.data_type,
        dims,
        config.max_batch_size,
        dim_names if len(dim_names) == len(dims) else (),
        isinstance(tensor, ModelInput) and tensor.optional,
        labels,
        remarks.get(model_name, ""),
    )


def _labels(subject: Subject, output: ModelOutput) -> tuple[str, int] | None:
    directory = subject.directory
    if directory is None or not output.label_filename:
        return None
    # The directory's own configuration may leave out a name, which completion has filled in.
    own = directory.config.output_by_name(output.name)
    labels = directory.labels(output.name if own is not None else "")
    return None if labels is None else (output.label_filename, len(labels))


def _aipp_remarks(file: DescribedFile) -> dict[str, str]:
    """Return, by input, what the AIPP of an .om wants to be fed."""
    if not isinstance(file.facts, OmModel):
        return {}
    return {
        tensor.name: f"AIPP: feed {tensor.aipp.instruction(tensor.dims_v2)}"
        for tensor in reversed(file.facts.inputs)  # of equal names the first counts
        if tensor.aipp is not None
    }
