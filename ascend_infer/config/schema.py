"""Triton's model configuration as one table, and the protobuf message class built from it.

The numbers, names and types are those of Triton's ``model_config.proto`` (package ``inference``), in its
order of declaration. The descriptor goes into a pool of its own, so that tritonclient, which registers the
same names in protobuf's default pool, can be imported in the same process before or after.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

__all__ = ["ENUMS", "MESSAGES", "FieldSpec", "MessageSpec", "message_class"]

# A name alone begins a message; "enum NAME a=0 ..." is one enum; a field is "number name [repeated] type
# [/oneof]" or "number name map key value".
_TABLE = """
enum DataType TYPE_INVALID=0 TYPE_BOOL=1 TYPE_UINT8=2 TYPE_UINT16=3 TYPE_UINT32=4 TYPE_UINT64=5 TYPE_INT8=6
 | TYPE_INT16=7 TYPE_INT32=8 TYPE_INT64=9 TYPE_FP16=10 TYPE_FP32=11 TYPE_FP64=12 TYPE_STRING=13 TYPE_BF16=14
ModelRateLimiter
  1 resources repeated ModelRateLimiter.Resource
  2 priority uint32
ModelRateLimiter.Resource
  1 name string
  2 global bool
  3 count uint32
ModelInstanceGroup
  1 name string
  4 kind ModelInstanceGroup.Kind
  2 count int32
  6 rate_limiter ModelRateLimiter
  3 gpus repeated int32
  8 secondary_devices repeated ModelInstanceGroup.SecondaryDevice
  5 profile repeated string
  7 passive bool
  9 host_policy string
enum ModelInstanceGroup.Kind KIND_AUTO=0 KIND_GPU=1 KIND_CPU=2 KIND_MODEL=3
ModelInstanceGroup.SecondaryDevice
  1 kind ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind
  2 device_id int64
enum ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind KIND_NVDLA=0
ModelTensorReshape
  1 shape repeated int64
ModelInput
  1 name string
  2 data_type DataType
  3 format ModelInput.Format
  4 dims repeated int64
  5 reshape ModelTensorReshape
  6 is_shape_tensor bool
  7 allow_ragged_batch bool
  8 optional bool
  9 is_non_linear_format_io bool
enum ModelInput.Format FORMAT_NONE=0 FORMAT_NHWC=1 FORMAT_NCHW=2
ModelOutput
  1 name string
  2 data_type DataType
  3 dims repeated int64
  5 reshape ModelTensorReshape
  4 label_filename string
  6 is_shape_tensor bool
  7 is_non_linear_format_io bool
BatchInput
  1 kind BatchInput.Kind
  2 target_name repeated string
  3 data_type DataType
  4 source_input repeated string
enum BatchInput.Kind BATCH_ELEMENT_COUNT=0 BATCH_ACCUMULATED_ELEMENT_COUNT=1
 | BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO=2 BATCH_MAX_ELEMENT_COUNT_AS_SHAPE=3 BATCH_ITEM_SHAPE=4
 | BATCH_ITEM_SHAPE_FLATTEN=5
BatchOutput
  1 target_name repeated string
  2 kind BatchOutput.Kind
  3 source_input repeated string
enum BatchOutput.Kind BATCH_SCATTER_WITH_INPUT_SHAPE=0
ModelVersionPolicy
  1 latest ModelVersionPolicy.Latest /policy_choice
  2 all ModelVersionPolicy.All /policy_choice
  3 specific ModelVersionPolicy.Specific /policy_choice
ModelVersionPolicy.Latest
  1 num_versions uint32
ModelVersionPolicy.All
ModelVersionPolicy.Specific
  1 versions repeated int64
ModelOptimizationPolicy
  1 graph ModelOptimizationPolicy.Graph
  2 priority ModelOptimizationPolicy.ModelPriority
  3 cuda ModelOptimizationPolicy.Cuda
  4 execution_accelerators ModelOptimizationPolicy.ExecutionAccelerators
  5 input_pinned_memory ModelOptimizationPolicy.PinnedMemoryBuffer
  6 output_pinned_memory ModelOptimizationPolicy.PinnedMemoryBuffer
  7 gather_kernel_buffer_threshold uint32
  8 eager_batching bool
enum ModelOptimizationPolicy.ModelPriority PRIORITY_DEFAULT=0 PRIORITY_MAX=1 PRIORITY_MIN=2
ModelOptimizationPolicy.Graph
  1 level int32
ModelOptimizationPolicy.Cuda
  1 graphs bool
  2 busy_wait_events bool
  3 graph_spec repeated ModelOptimizationPolicy.Cuda.GraphSpec
  4 output_copy_stream bool
ModelOptimizationPolicy.Cuda.GraphSpec
  1 batch_size int32
  2 input map string ModelOptimizationPolicy.Cuda.GraphSpec.Shape
  3 graph_lower_bound ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound
ModelOptimizationPolicy.Cuda.GraphSpec.Shape
  1 dim repeated int64
ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound
  1 batch_size int32
  2 input map string ModelOptimizationPolicy.Cuda.GraphSpec.Shape
ModelOptimizationPolicy.ExecutionAccelerators
  1 gpu_execution_accelerator repeated ModelOptimizationPolicy.ExecutionAccelerators.Accelerator
  2 cpu_execution_accelerator repeated ModelOptimizationPolicy.ExecutionAccelerators.Accelerator
ModelOptimizationPolicy.ExecutionAccelerators.Accelerator
  1 name string
  2 parameters map string string
ModelOptimizationPolicy.PinnedMemoryBuffer
  1 enable bool
ModelQueuePolicy
  1 timeout_action ModelQueuePolicy.TimeoutAction
  2 default_timeout_microseconds uint64
  3 allow_timeout_override bool
  4 max_queue_size uint32
enum ModelQueuePolicy.TimeoutAction REJECT=0 DELAY=1
ModelDynamicBatching
  1 preferred_batch_size repeated int32
  2 max_queue_delay_microseconds uint64
  3 preserve_ordering bool
  4 priority_levels uint64
  5 default_priority_level uint64
  6 default_queue_policy ModelQueuePolicy
  7 priority_queue_policy map uint64 ModelQueuePolicy
ModelSequenceBatching
  3 direct ModelSequenceBatching.StrategyDirect /strategy_choice
  4 oldest ModelSequenceBatching.StrategyOldest /strategy_choice
  1 max_sequence_idle_microseconds uint64
  2 control_input repeated ModelSequenceBatching.ControlInput
  5 state repeated ModelSequenceBatching.State
  6 iterative_sequence bool
ModelSequenceBatching.Control
  1 kind ModelSequenceBatching.Control.Kind
  2 int32_false_true repeated int32
  3 fp32_false_true repeated float
  5 bool_false_true repeated bool
  4 data_type DataType
enum ModelSequenceBatching.Control.Kind CONTROL_SEQUENCE_START=0 CONTROL_SEQUENCE_READY=1
 | CONTROL_SEQUENCE_END=2 CONTROL_SEQUENCE_CORRID=3
ModelSequenceBatching.ControlInput
  1 name string
  2 control repeated ModelSequenceBatching.Control
ModelSequenceBatching.InitialState
  1 data_type DataType
  2 dims repeated int64
  3 zero_data bool /state_data
  4 data_file string /state_data
  5 name string
ModelSequenceBatching.State
  1 input_name string
  2 output_name string
  3 data_type DataType
  4 dims repeated int64
  5 initial_state repeated ModelSequenceBatching.InitialState
  6 use_same_buffer_for_input_output bool
  7 use_growable_memory bool
ModelSequenceBatching.StrategyDirect
  1 max_queue_delay_microseconds uint64
  2 minimum_slot_utilization float
ModelSequenceBatching.StrategyOldest
  1 max_candidate_sequences int32
  2 preferred_batch_size repeated int32
  3 max_queue_delay_microseconds uint64
  4 preserve_ordering bool
ModelEnsembling
  1 step repeated ModelEnsembling.Step
  2 max_inflight_requests uint32
ModelEnsembling.Step
  1 model_name string
  2 model_version int64
  3 input_map map string string
  4 output_map map string string
  5 model_namespace string
ModelParameter
  1 string_value string
ModelWarmup
  1 name string
  2 batch_size uint32
  3 inputs map string ModelWarmup.Input
  4 count uint32
ModelWarmup.Input
  1 data_type DataType
  2 dims repeated int64
  3 zero_data bool /input_data_type
  4 random_data bool /input_data_type
  5 input_data_file string /input_data_type
ModelOperations
  1 op_library_filename repeated string
ModelTransactionPolicy
  1 decoupled bool
ModelRepositoryAgents
  1 agents repeated ModelRepositoryAgents.Agent
ModelRepositoryAgents.Agent
  1 name string
  2 parameters map string string
ModelResponseCache
  1 enable bool
ModelMetrics
  1 metric_control repeated ModelMetrics.MetricControl
ModelMetrics.MetricControl
  1 metric_identifier ModelMetrics.MetricControl.MetricIdentifier
  2 histogram_options ModelMetrics.MetricControl.HistogramOptions /metric_options
ModelMetrics.MetricControl.MetricIdentifier
  1 family string
ModelMetrics.MetricControl.HistogramOptions
  1 buckets repeated double
ModelConfig
  1 name string
  2 platform string
  17 backend string
  25 runtime string
  3 version_policy ModelVersionPolicy
  4 max_batch_size int32
  5 input repeated ModelInput
  6 output repeated ModelOutput
  20 batch_input repeated BatchInput
  21 batch_output repeated BatchOutput
  12 optimization ModelOptimizationPolicy
  11 dynamic_batching ModelDynamicBatching /scheduling_choice
  13 sequence_batching ModelSequenceBatching /scheduling_choice
  15 ensemble_scheduling ModelEnsembling /scheduling_choice
  7 instance_group repeated ModelInstanceGroup
  8 default_model_filename string
  9 cc_model_filenames map string string
  10 metric_tags map string string
  14 parameters map string ModelParameter
  16 model_warmup repeated ModelWarmup
  18 model_operations ModelOperations
  19 model_transaction_policy ModelTransactionPolicy
  23 model_repository_agents ModelRepositoryAgents
  24 response_cache ModelResponseCache
  26 model_metrics ModelMetrics
"""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field: ``type`` is a scalar's name or the key of `MESSAGES` or `ENUMS` (of a map's values).

    ``key_type`` is a map's, ``oneof`` the group of which at most one member may be set.
    """

    number: int
    name: str
    type: str
    label: Literal["one", "many", "map"] = "one"
    key_type: str | None = None
    oneof: str | None = None

    @property
    def is_message(self) -> bool:
        """Whether a value is written in braces (a map's entry always is)."""
        return self.label == "map" or self.type in MESSAGES

    @property
    def has_presence(self) -> bool:
        """Whether "absent" differs from "zero": for messages and members of a oneof."""
        return self.label == "one" and (self.type in MESSAGES or self.oneof is not None)

    def entry(self) -> MessageSpec:
        """Return the message inside the braces: the entry's ``key`` and ``value`` for a map."""
        if self.label != "map":
            return MESSAGES[self.type]
        assert self.key_type is not None
        key, value = FieldSpec(1, "key", self.key_type), FieldSpec(2, "value", self.type)
        return MessageSpec(f"{self.name} entry", {"key": key, "value": value})


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """One message: its fields by name, in the order of declaration."""

    name: str
    fields: dict[str, FieldSpec] = field(default_factory=dict)


def _read_table() -> tuple[dict[str, MessageSpec], dict[str, dict[str, int]]]:
    messages: dict[str, MessageSpec] = {}
    enums: dict[str, dict[str, int]] = {}
    current: dict[str, FieldSpec] = {}
    for line in _TABLE.strip().replace("\n |", "").splitlines():
        words = line.split()
        if words[0] == "enum":
            pairs = (word.split("=") for word in words[2:])
            enums[words[1]] = {name: int(number) for name, number in pairs}
        elif not words[0].isdigit():
            current = {}
            messages[words[0]] = MessageSpec(words[0], current)
        else:
            number, name, rest = int(words[0]), words[1], words[2:]
            oneof = rest.pop()[1:] if rest[-1].startswith("/") else None
            if rest[0] == "map":
                current[name] = FieldSpec(number, name, rest[2], "map", rest[1])
            elif rest[0] == "repeated":
                current[name] = FieldSpec(number, name, rest[1], "many")
            else:
                current[name] = FieldSpec(number, name, rest[0], "one", None, oneof)
    return messages, enums


MESSAGES, ENUMS = _read_table()


def _file_descriptor() -> Any:
    from google.protobuf import descriptor_pb2

    proto = descriptor_pb2.FileDescriptorProto(
        name="ascend_infer/model_config.proto", package="inference", syntax="proto3"
    )
    scalars = descriptor_pb2.FieldDescriptorProto.Type
    holders: dict[str, Any] = {}

    def set_type(target: Any, name: str) -> None:
        if name in MESSAGES or name in ENUMS:
            target.type = scalars.Value("TYPE_MESSAGE" if name in MESSAGES else "TYPE_ENUM")
            target.type_name = f".inference.{name}"
        else:
            target.type = scalars.Value(f"TYPE_{name.upper()}")

    # Outer messages first: a nested one is added to its holder.
    for name in sorted(MESSAGES, key=lambda name: name.count(".")):
        outer, _, own = name.rpartition(".")
        holders[name] = (holders[outer].nested_type if outer else proto.message_type).add(name=own)
    for name, values in ENUMS.items():
        outer, _, own = name.rpartition(".")
        enum = (holders[outer] if outer else proto).enum_type.add(name=own)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for name, message in MESSAGES.items():
        oneofs: list[str] = []
        for spec in message.fields.values():
            target = holders[name].field.add(name=spec.name, number=spec.number)
            target.label = target.LABEL_OPTIONAL if spec.label == "one" else target.LABEL_REPEATED
            if spec.label == "map":
                own = spec.name.title().replace("_", "") + "Entry"
                entry = holders[name].nested_type.add(name=own)
                entry.options.map_entry = True
                for part in spec.entry().fields.values():
                    inner = entry.field.add(name=part.name, number=part.number, label=target.LABEL_OPTIONAL)
                    set_type(inner, part.type)
                target.type = scalars.Value("TYPE_MESSAGE")
                target.type_name = f".inference.{name}.{own}"
                continue
            set_type(target, spec.type)
            if spec.oneof is not None:
                if spec.oneof not in oneofs:
                    oneofs.append(spec.oneof)
                    holders[name].oneof_decl.add(name=spec.oneof)
                target.oneof_index = oneofs.index(spec.oneof)
    return proto


def message_class() -> Any:
    """Return the protobuf class of ``inference.ModelConfig``, made at the first call in a private pool."""
    return _classes()["inference.ModelConfig"]


@cache
def _classes() -> dict[str, Any]:
    """Return every message's class by its full name, to be kept.

    protobuf makes the class of a nested message when one is asked for, and has no reference to it afterwards: it is
    garbage after each parse. A class that one thread's garbage collection takes apart while another thread gets
    it out of protobuf's cache ends the process.
    """
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    file = _file_descriptor()
    pool.AddSerializedFile(file.SerializeToString())
    found: dict[str, Any] = {}
    waiting = list(pool.FindFileByName(file.name).message_types_by_name.values())
    while waiting:
        message = waiting.pop()
        found[message.full_name] = message_factory.GetMessageClass(message)
        waiting += message.nested_types
    return found
