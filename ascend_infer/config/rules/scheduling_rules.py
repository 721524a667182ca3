"""Rules of the micro-batcher: sizes, priorities, queue policies."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.scheduling_config import (
    ModelDynamicBatching,
    ModelQueuePolicy,
    ModelQueuePolicyTimeoutAction,
)

__all__ = ["check_preferred_sizes", "check_scheduling"]


def check_scheduling(config: ModelConfig, findings: Findings) -> None:
    """Check ``dynamic_batching``."""
    batching = config.dynamic_batching
    if batching is None:
        return
    sizes = batching.preferred_batch_size
    path = "dynamic_batching.preferred_batch_size"
    check_preferred_sizes(sizes, config.max_batch_size, path, "dynamic batching", findings)
    if config.max_batch_size == 0 and not sizes and (config.input or "max_batch_size" in findings.positions):
        findings.warning(
            "dynamic_batching",
            "dynamic_batching has no effect with max_batch_size 0: nothing is batched",
            hint="set max_batch_size, or delete dynamic_batching",
        )
    _check_priorities(batching, findings)
    if batching.preserve_ordering:
        _check_ordering(batching, findings)


def check_preferred_sizes(
    sizes: Sequence[int], largest: int, path: str, label: str, findings: Findings
) -> None:
    """Check preferred batch sizes against the largest batch."""
    for index, size in enumerate(sizes):
        if size <= 0:
            findings.error(
                f"{path}[{index}]", f"{label} preferred size must be positive", got=size, expected="1 or more"
            )
        elif size > largest:
            findings.error(
                f"{path}[{index}]",
                f"{label} preferred size must be <= max batch size",
                got=size,
                expected=f"at most {largest}" if largest else "none, max_batch_size is 0",
                hint=f"raise max_batch_size to {size}" if largest else "set max_batch_size",
            )


def _check_priorities(batching: ModelDynamicBatching, findings: Findings) -> None:
    levels = batching.priority_levels
    if levels == 0:
        # Triton takes both without a word.
        for field, what in (
            ("priority_queue_policy", "queue policies of priorities have"),
            ("default_priority_level", "a default priority has"),
        ):
            if getattr(batching, field):
                findings.warning(
                    f"dynamic_batching.{field}",
                    f"{what} no effect without priority_levels",
                    hint="set priority_levels, or delete it",
                )
        return
    if not 1 <= batching.default_priority_level <= levels:
        findings.error(
            "dynamic_batching.default_priority_level",
            f"default priority level must be in range [1, {levels}]",
            got=batching.default_priority_level,
            expected=f"1 to {levels}",
            hint=f"add default_priority_level: {(levels + 1) // 2}",
        )
    for level in batching.priority_queue_policy:
        if not 1 <= level <= levels:
            findings.error(
                f"dynamic_batching.priority_queue_policy[{level}]",
                f"priority queue policy must have priority level in range [1, {levels}]",
                got=level,
                expected=f"1 to {levels}",
            )


def _check_ordering(batching: ModelDynamicBatching, findings: Findings) -> None:
    if batching.priority_levels > 1:
        findings.error(
            "dynamic_batching.preserve_ordering",
            "only one priority level is allowed when 'preserve_ordering' is true",
            got=f"priority_levels: {batching.priority_levels}",
            expected="priority_levels: 1 or none",
        )
    policies: list[tuple[str, ModelQueuePolicy]] = [
        (f"dynamic_batching.priority_queue_policy[{level}]", policy)
        for level, policy in batching.priority_queue_policy.items()
    ]
    if batching.default_queue_policy is not None:
        policies.insert(0, ("dynamic_batching.default_queue_policy", batching.default_queue_policy))
    for path, policy in policies:
        delays = policy.timeout_action is ModelQueuePolicyTimeoutAction.DELAY
        if delays and policy.default_timeout_microseconds != 0:
            findings.error(
                f"{path}.timeout_action",
                "queue policy can not have DELAY as timeout action when 'preserve_ordering' is true",
                got="DELAY",
                expected="REJECT",
            )
