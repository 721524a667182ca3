"""What a configuration leaves out and Triton fills in when it loads one."""

from __future__ import annotations

from dataclasses import replace

from ascend_infer.config.instance_group import ModelInstanceGroup
from ascend_infer.config.model_config import ModelConfig, ModelVersionPolicy, ModelVersionPolicyLatest
from ascend_infer.config.optimization import (
    ModelOptimizationPolicy,
    ModelOptimizationPolicyPinnedMemoryBuffer,
)
from ascend_infer.config.platforms import find_platform

__all__ = ["normalise"]

_DEFAULT_IDLE_MICROSECONDS = 1_000_000


def normalise(config: ModelConfig) -> ModelConfig:
    """Return the configuration with Triton's defaults; doing it twice changes nothing.

    Version policy: the latest one. Preferred batch size: the largest. Idle time of a sequence: one second.
    Pinned copies: on. Instance groups: one group of one instance; groups without a name are
    ``<model>_<index>``. A missing backend and default_model_filename follow from the table in
    ``platforms.py``. KIND_AUTO stays: what it becomes depends on the device.
    """
    entry = find_platform(config)
    changes: dict[str, object] = {}
    if entry is not None and not config.backend and entry.backend:
        changes["backend"] = entry.backend
    if entry is not None and not config.default_model_filename and entry.filename:
        changes["default_model_filename"] = entry.filename
    policy = config.version_policy
    if policy is None or policy == ModelVersionPolicy():
        changes["version_policy"] = ModelVersionPolicy(latest=ModelVersionPolicyLatest(num_versions=1))
    largest = (config.max_batch_size,) if config.max_batch_size > 0 else ()
    dynamic = config.dynamic_batching
    if dynamic is not None and not dynamic.preferred_batch_size:
        changes["dynamic_batching"] = replace(dynamic, preferred_batch_size=largest)
    sequence = config.sequence_batching
    if sequence is not None:
        idle = sequence.max_sequence_idle_microseconds or _DEFAULT_IDLE_MICROSECONDS
        oldest = sequence.oldest
        if oldest is not None and not oldest.preferred_batch_size:
            oldest = replace(oldest, preferred_batch_size=largest)
        changes["sequence_batching"] = replace(sequence, max_sequence_idle_microseconds=idle, oldest=oldest)
    if config.platform != "ensemble" and config.ensemble_scheduling is None:
        changes["optimization"] = _with_pinned_memory(config.optimization)
        changes["instance_group"] = _named_groups(config)
    return replace(config, **changes)  # type: ignore[arg-type]


def _with_pinned_memory(policy: ModelOptimizationPolicy | None) -> ModelOptimizationPolicy:
    policy = policy or ModelOptimizationPolicy()
    pinned = ModelOptimizationPolicyPinnedMemoryBuffer(enable=True)
    return replace(
        policy,
        input_pinned_memory=policy.input_pinned_memory or pinned,
        output_pinned_memory=policy.output_pinned_memory or pinned,
    )


def _named_groups(config: ModelConfig) -> tuple[ModelInstanceGroup, ...]:
    if not config.instance_group:
        # Triton gives this one no index: its first instance is <model>_0.
        return (ModelInstanceGroup(name=config.name, count=1),)
    return tuple(
        replace(group, name=group.name or (config.name and f"{config.name}_{index}"), count=group.count or 1)
        for index, group in enumerate(config.instance_group)
    )
