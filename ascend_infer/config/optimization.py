"""Triton's optimisation hints. They are kept and written back; few mean anything without its GPU backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = [
    "ModelOptimizationPolicy",
    "ModelOptimizationPolicyCuda",
    "ModelOptimizationPolicyCudaGraphSpec",
    "ModelOptimizationPolicyCudaGraphSpecLowerBound",
    "ModelOptimizationPolicyCudaGraphSpecShape",
    "ModelOptimizationPolicyExecutionAccelerators",
    "ModelOptimizationPolicyExecutionAcceleratorsAccelerator",
    "ModelOptimizationPolicyGraph",
    "ModelOptimizationPolicyModelPriority",
    "ModelOptimizationPolicyPinnedMemoryBuffer",
]


class ModelOptimizationPolicyModelPriority(StrEnum):
    """A model's weight against others on the same device."""

    PRIORITY_DEFAULT = "PRIORITY_DEFAULT"
    PRIORITY_MAX = "PRIORITY_MAX"
    PRIORITY_MIN = "PRIORITY_MIN"


@dataclass(frozen=True, slots=True)
class ModelOptimizationPolicyGraph:
    """How hard the framework optimises the graph: -1 not at all, 1 more than its default."""

    level: int = 0


@dataclass(frozen=True, slots=True)
class ModelOptimizationPolicyCudaGraphSpecShape:
    """An input's shape in a captured CUDA graph."""

    dim: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelOptimizationPolicyCudaGraphSpecLowerBound:
    """The smallest shapes for which a captured CUDA graph may be used."""

    batch_size: int = 0
    input: Mapping[str, ModelOptimizationPolicyCudaGraphSpecShape] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelOptimizationPolicyCudaGraphSpec:
    """One CUDA graph to capture."""

    batch_size: int = 0
    input: Mapping[str, ModelOptimizationPolicyCudaGraphSpecShape] = field(default_factory=dict)
    graph_lower_bound: ModelOptimizationPolicyCudaGraphSpecLowerBound | None = None


@dataclass(frozen=True, slots=True)
class ModelOptimizationPolicyCuda:
    """CUDA's own switches."""

    graphs: bool = False
    busy_wait_events: bool = False
    graph_spec: tuple[ModelOptimizationPolicyCudaGraphSpec, ...] = ()
    output_copy_stream: bool = False


@dataclass(frozen=True, slots=True)
class ModelOptimizationPolicyExecutionAcceleratorsAccelerator:
    """One accelerator (an execution provider) and its parameters."""

    name: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelOptimizationPolicyExecutionAccelerators:
    """Accelerators in order of preference, for instances on a device and on the CPU."""

    gpu_execution_accelerator: tuple[ModelOptimizationPolicyExecutionAcceleratorsAccelerator, ...] = ()
    cpu_execution_accelerator: tuple[ModelOptimizationPolicyExecutionAcceleratorsAccelerator, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelOptimizationPolicyPinnedMemoryBuffer:
    """Whether copies go through pinned host memory."""

    enable: bool = False


@dataclass(frozen=True, slots=True)
class ModelOptimizationPolicy:
    """All hints of a model."""

    graph: ModelOptimizationPolicyGraph | None = None
    priority: ModelOptimizationPolicyModelPriority = ModelOptimizationPolicyModelPriority.PRIORITY_DEFAULT
    cuda: ModelOptimizationPolicyCuda | None = None
    execution_accelerators: ModelOptimizationPolicyExecutionAccelerators | None = None
    input_pinned_memory: ModelOptimizationPolicyPinnedMemoryBuffer | None = None
    output_pinned_memory: ModelOptimizationPolicyPinnedMemoryBuffer | None = None
    gather_kernel_buffer_threshold: int = 0
    eager_batching: bool = False
