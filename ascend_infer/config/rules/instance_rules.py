"""Rules of instance groups. Which devices exist is not known here."""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.instance_group import ModelInstanceGroupKind
from ascend_infer.config.model_config import ModelConfig

__all__ = ["check_instance_groups"]


def check_instance_groups(config: ModelConfig, findings: Findings) -> None:
    """Check counts, kinds, devices and profiles of each group."""
    names: dict[str, int] = {}
    for index, group in enumerate(config.instance_group):
        path = f"instance_group[{index}]"
        if group.count < 0:
            findings.error(
                f"{path}.count",
                f"instance group '{group.name}' has a negative count",
                got=group.count,
                expected="1 or more (0 is 1)",
            )
        if group.gpus and group.kind in (
            ModelInstanceGroupKind.KIND_CPU,
            ModelInstanceGroupKind.KIND_MODEL,
        ):
            findings.error(
                f"{path}.gpus",
                f"instance group '{group.name}' has kind {group.kind} but specifies one or more GPUs",
                got=list(group.gpus),
                expected="no gpus",
                hint="write kind: KIND_GPU for a device, or delete gpus",
            )
        for place, device in enumerate(group.gpus):
            own = f"{path}.gpus[{place}]"
            if device < 0:
                findings.error(
                    own,
                    f"instance group '{group.name}' specifies invalid gpu id {device}",
                    got=device,
                    expected="a device number, 0 or more",
                )
            elif device in group.gpus[:place]:
                findings.warning(own, f"instance group '{group.name}' names device {device} twice")
        if group.profile and config.platform != "tensorrt_plan" and config.backend != "tensorrt":
            findings.error(
                f"{path}.profile",
                f"instance group '{group.name}' specifies profile, which only TensorRT supports",
                hint="delete the line",
            )
        if names.setdefault(group.name, index) != index:
            findings.warning(f"{path}.name", f"two instance groups are named '{group.name}'")
        limiter = group.rate_limiter
        for place, resource in enumerate(limiter.resources if limiter is not None else ()):
            if not resource.name:
                findings.error(f"{path}.rate_limiter.resources[{place}]", "a resource must specify 'name'")
