"""How requests are put together and in which order they run, in the fields of Triton's model_config.proto."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ascend_infer.types import DataType

__all__ = [
    "ModelDynamicBatching",
    "ModelEnsembling",
    "ModelEnsemblingStep",
    "ModelQueuePolicy",
    "ModelQueuePolicyTimeoutAction",
    "ModelSequenceBatching",
    "ModelSequenceBatchingControl",
    "ModelSequenceBatchingControlInput",
    "ModelSequenceBatchingControlKind",
    "ModelSequenceBatchingInitialState",
    "ModelSequenceBatchingState",
    "ModelSequenceBatchingStrategyDirect",
    "ModelSequenceBatchingStrategyOldest",
]


class ModelQueuePolicyTimeoutAction(StrEnum):
    """What happens to a request whose time in the queue is over: refused, or put behind the others."""

    REJECT = "REJECT"
    DELAY = "DELAY"


@dataclass(frozen=True, slots=True)
class ModelQueuePolicy:
    """Limits of one queue; times in microseconds, 0 is no limit."""

    timeout_action: ModelQueuePolicyTimeoutAction = ModelQueuePolicyTimeoutAction.REJECT
    default_timeout_microseconds: int = 0
    allow_timeout_override: bool = False
    max_queue_size: int = 0


@dataclass(frozen=True, slots=True)
class ModelDynamicBatching:
    """The micro-batcher: which sizes are preferred, how long a request waits for company (microseconds)."""

    preferred_batch_size: tuple[int, ...] = ()
    max_queue_delay_microseconds: int = 0
    preserve_ordering: bool = False
    priority_levels: int = 0
    default_priority_level: int = 0
    default_queue_policy: ModelQueuePolicy | None = None
    priority_queue_policy: Mapping[int, ModelQueuePolicy] = field(default_factory=dict)


class ModelSequenceBatchingControlKind(StrEnum):
    """What a control input tells the model of its sequence."""

    CONTROL_SEQUENCE_START = "CONTROL_SEQUENCE_START"
    CONTROL_SEQUENCE_READY = "CONTROL_SEQUENCE_READY"
    CONTROL_SEQUENCE_END = "CONTROL_SEQUENCE_END"
    CONTROL_SEQUENCE_CORRID = "CONTROL_SEQUENCE_CORRID"


@dataclass(frozen=True, slots=True)
class ModelSequenceBatchingControl:
    """One control: the pair of values for false and true, in one of three types, or the id's type."""

    kind: ModelSequenceBatchingControlKind = ModelSequenceBatchingControlKind.CONTROL_SEQUENCE_START
    int32_false_true: tuple[int, ...] = ()
    fp32_false_true: tuple[float, ...] = ()
    bool_false_true: tuple[bool, ...] = ()
    data_type: DataType | None = None


@dataclass(frozen=True, slots=True)
class ModelSequenceBatchingControlInput:
    """A model input that carries controls."""

    name: str = ""
    control: tuple[ModelSequenceBatchingControl, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSequenceBatchingInitialState:
    """What a state holds when its sequence begins: ``zero_data`` or ``data_file``, the other is None."""

    data_type: DataType | None = None
    dims: tuple[int, ...] = ()
    zero_data: bool | None = None
    data_file: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class ModelSequenceBatchingState:
    """An output that comes back as an input at the sequence's next request."""

    input_name: str = ""
    output_name: str = ""
    data_type: DataType | None = None
    dims: tuple[int, ...] = ()
    initial_state: tuple[ModelSequenceBatchingInitialState, ...] = ()
    use_same_buffer_for_input_output: bool = False
    use_growable_memory: bool = False


@dataclass(frozen=True, slots=True)
class ModelSequenceBatchingStrategyDirect:
    """Every sequence keeps a slot of an instance."""

    max_queue_delay_microseconds: int = 0
    minimum_slot_utilization: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelSequenceBatchingStrategyOldest:
    """Requests of the oldest sequences are batched, no two of one sequence together."""

    max_candidate_sequences: int = 0
    preferred_batch_size: tuple[int, ...] = ()
    max_queue_delay_microseconds: int = 0
    preserve_ordering: bool = False


@dataclass(frozen=True, slots=True)
class ModelSequenceBatching:
    """Stateful models: all requests of a sequence go to one instance; at most one strategy is not None."""

    direct: ModelSequenceBatchingStrategyDirect | None = None
    oldest: ModelSequenceBatchingStrategyOldest | None = None
    max_sequence_idle_microseconds: int = 0
    control_input: tuple[ModelSequenceBatchingControlInput, ...] = ()
    state: tuple[ModelSequenceBatchingState, ...] = ()
    iterative_sequence: bool = False


@dataclass(frozen=True, slots=True)
class ModelEnsemblingStep:
    """One member: which of the ensemble's tensors are its inputs and outputs; version -1 is the latest."""

    model_name: str = ""
    model_version: int = 0
    input_map: Mapping[str, str] = field(default_factory=dict)
    output_map: Mapping[str, str] = field(default_factory=dict)
    model_namespace: str = ""


@dataclass(frozen=True, slots=True)
class ModelEnsembling:
    """A graph of models that runs as one."""

    step: tuple[ModelEnsemblingStep, ...] = ()
    max_inflight_requests: int = 0
