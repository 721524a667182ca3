"""ModelConfig, the whole of a config.pbtxt, and its smaller parts.

Every class is frozen and has the fields of its message in Triton's model_config.proto, under the same names
and in the same order; a class is named like its message, without the dots. Repeated fields are tuples, maps
are mappings that nobody may change, an absent message is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_infer.config.instance_group import ModelInstanceGroup
from ascend_infer.config.optimization import ModelOptimizationPolicy
from ascend_infer.config.scheduling_config import (
    ModelDynamicBatching,
    ModelEnsembling,
    ModelSequenceBatching,
)
from ascend_infer.config.tensor_config import (
    BatchInput,
    BatchInputKind,
    BatchOutput,
    ModelInput,
    ModelOutput,
)
from ascend_infer.types import DataType

__all__ = [
    "ModelConfig",
    "ModelMetrics",
    "ModelMetricsMetricControl",
    "ModelMetricsMetricControlHistogramOptions",
    "ModelMetricsMetricControlMetricIdentifier",
    "ModelOperations",
    "ModelParameter",
    "ModelRepositoryAgents",
    "ModelRepositoryAgentsAgent",
    "ModelResponseCache",
    "ModelTransactionPolicy",
    "ModelVersionPolicy",
    "ModelVersionPolicyAll",
    "ModelVersionPolicyLatest",
    "ModelVersionPolicySpecific",
    "ModelWarmup",
    "ModelWarmupInput",
]


@dataclass(frozen=True, slots=True)
class ModelVersionPolicyLatest:
    """The ``num_versions`` highest versions."""

    num_versions: int = 0


@dataclass(frozen=True, slots=True)
class ModelVersionPolicyAll:
    """Every version."""


@dataclass(frozen=True, slots=True)
class ModelVersionPolicySpecific:
    """The listed versions, as far as they are there."""

    versions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelVersionPolicy:
    """Which versions are served; at most one member is not None."""

    latest: ModelVersionPolicyLatest | None = None
    all: ModelVersionPolicyAll | None = None
    specific: ModelVersionPolicySpecific | None = None


@dataclass(frozen=True, slots=True)
class ModelParameter:
    """A parameter's value; Triton has no other type than text."""

    string_value: str = ""


@dataclass(frozen=True, slots=True)
class ModelWarmupInput:
    """One input of a warm-up request; at most one of the three kinds of data is not None."""

    data_type: DataType | None = None
    dims: tuple[int, ...] = ()
    zero_data: bool | None = None
    random_data: bool | None = None
    input_data_file: str | None = None


@dataclass(frozen=True, slots=True)
class ModelWarmup:
    """Requests an instance runs before it is ready: ``batch_size`` of batch 1 together, ``count`` times."""

    name: str = ""
    batch_size: int = 0
    inputs: Mapping[str, ModelWarmupInput] = field(default_factory=dict)
    count: int = 0


@dataclass(frozen=True, slots=True)
class ModelOperations:
    """Libraries of custom operators that the framework loads first."""

    op_library_filename: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelTransactionPolicy:
    """Whether a request may have any number of responses."""

    decoupled: bool = False


@dataclass(frozen=True, slots=True)
class ModelRepositoryAgentsAgent:
    """One repository agent and its parameters."""

    name: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelRepositoryAgents:
    """Agents that act when the model is loaded, in order."""

    agents: tuple[ModelRepositoryAgentsAgent, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelResponseCache:
    """Whether equal requests may be answered from the cache."""

    enable: bool = False


@dataclass(frozen=True, slots=True)
class ModelMetricsMetricControlMetricIdentifier:
    """The family of metrics that is meant."""

    family: str = ""


@dataclass(frozen=True, slots=True)
class ModelMetricsMetricControlHistogramOptions:
    """A histogram's upper bounds."""

    buckets: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelMetricsMetricControl:
    """What is changed of one family of metrics."""

    metric_identifier: ModelMetricsMetricControlMetricIdentifier | None = None
    histogram_options: ModelMetricsMetricControlHistogramOptions | None = None


@dataclass(frozen=True, slots=True)
class ModelMetrics:
    """Changes to this model's metrics."""

    metric_control: tuple[ModelMetricsMetricControl, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A model's configuration.

    Attributes
    ----------
    platform, backend : str
        What runs the model; see ``platforms.py``.
    max_batch_size : int
        Largest batch of one execution; 0 when ``dims`` are the whole shapes and nothing is batched.
    dynamic_batching, sequence_batching, ensemble_scheduling : message or None
        At most one of the three.
    """

    name: str = ""
    platform: str = ""
    backend: str = ""
    runtime: str = ""
    version_policy: ModelVersionPolicy | None = None
    max_batch_size: int = 0
    input: tuple[ModelInput, ...] = ()
    output: tuple[ModelOutput, ...] = ()
    batch_input: tuple[BatchInput, ...] = ()
    batch_output: tuple[BatchOutput, ...] = ()
    optimization: ModelOptimizationPolicy | None = None
    dynamic_batching: ModelDynamicBatching | None = None
    sequence_batching: ModelSequenceBatching | None = None
    ensemble_scheduling: ModelEnsembling | None = None
    instance_group: tuple[ModelInstanceGroup, ...] = ()
    default_model_filename: str = ""
    cc_model_filenames: Mapping[str, str] = field(default_factory=dict)
    metric_tags: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, ModelParameter] = field(default_factory=dict)
    model_warmup: tuple[ModelWarmup, ...] = ()
    model_operations: ModelOperations | None = None
    model_transaction_policy: ModelTransactionPolicy | None = None
    model_repository_agents: ModelRepositoryAgents | None = None
    response_cache: ModelResponseCache | None = None
    model_metrics: ModelMetrics | None = None

    @property
    def has_rows(self) -> bool:
        """Whether the first dimension of each of the model's own tensors is the batch.

        Not without ``max_batch_size``, and not where requests are laid end to end and counted by ``batch_input``.
        """
        shaped = all(entry.kind is BatchInputKind.BATCH_ITEM_SHAPE for entry in self.batch_input)
        ragged = any(tensor.allow_ragged_batch for tensor in self.input)
        return self.max_batch_size > 0 and shaped and not ragged and not self.batch_output

    def input_by_name(self, name: str) -> ModelInput | None:
        """Return the input of this name, None when there is none."""
        return next((tensor for tensor in self.input if tensor.name == name), None)

    def output_by_name(self, name: str) -> ModelOutput | None:
        """Return the output of this name, None when there is none."""
        return next((tensor for tensor in self.output if tensor.name == name), None)

    def parameter(self, key: str, default: str = "") -> str:
        """Return a parameter's text, ``default`` when the configuration has no such parameter."""
        found = self.parameters.get(key)
        return default if found is None else found.string_value
