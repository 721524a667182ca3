"""What a configuration says, in short lines: versions, batching, instances."""

from __future__ import annotations

from ascend_infer.cli.inspection.report import Report
from ascend_infer.config import ModelConfig
from ascend_infer.config.instance_group import ModelInstanceGroup

__all__ = ["config_lines"]

_KINDS = {"KIND_GPU": " on the NPU", "KIND_CPU": " on the CPU", "KIND_MODEL": " where the model says"}


def config_lines(report: Report) -> list[tuple[str, str]]:
    """Return label and text of each line; none for a bare file."""
    config, directory = report.config, report.subject.directory
    if config is None or directory is None:
        return []
    versions = ", ".join(map(str, directory.versions)) or "none"
    rows = [
        ("versions", f"{versions}; {_policy(config)}: version {report.subject.version} is described here")
    ]
    backend = config.backend or "none"
    rows.append(("backend", f"{backend}, platform {config.platform}" if config.platform else backend))
    rows.append(("batching", _batching(config)))
    if config.ensemble_scheduling is not None:
        steps = [
            step.model_name + (f" version {step.model_version}" if step.model_version > 0 else "")
            for step in config.ensemble_scheduling.step
        ]
        rows.append(("steps", " -> ".join(steps)))
    else:
        rows.append(("instances", "; ".join(map(_group, config.instance_group)) or "1"))
    if config.parameters:
        rows.append(
            (
                "parameters",
                ", ".join(f"{key}={value.string_value}" for key, value in config.parameters.items()),
            )
        )
    return rows


def _policy(config: ModelConfig) -> str:
    policy = config.version_policy
    if policy is None or policy.latest is not None:
        count = policy.latest.num_versions if policy is not None and policy.latest is not None else 1
        return "the latest serves" if count == 1 else f"the latest {count} serve"
    if policy.specific is not None:
        return f"{', '.join(map(str, policy.specific.versions))} serve"
    return "all serve"


def _batching(config: ModelConfig) -> str:
    if config.max_batch_size == 0:
        return "none: every request has the whole shapes (max_batch_size 0)"
    text = f"up to {config.max_batch_size} in one run"
    dynamic = config.dynamic_batching
    if dynamic is not None:
        sizes = ", ".join(map(str, dynamic.preferred_batch_size))
        text += f"; requests are put together, preferably to {sizes or config.max_batch_size}"
        if dynamic.max_queue_delay_microseconds:
            text += f", and wait up to {dynamic.max_queue_delay_microseconds} us for it"
    if config.sequence_batching is not None:
        text += "; requests of a sequence go to one instance"
    return text


def _group(group: ModelInstanceGroup) -> str:
    where = _KINDS.get(group.kind.value, "")
    if group.gpus:
        listed = ", ".join(map(str, group.gpus))
        where = f" on {'each of NPUs' if len(group.gpus) > 1 else 'NPU'} {listed}"
    return f"{group.count or 1}{where}" + (" (passive)" if group.passive else "")
