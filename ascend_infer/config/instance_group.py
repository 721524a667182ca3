"""How many copies of a model run, and where. Field names are those of Triton's model_config.proto."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "ModelInstanceGroup",
    "ModelInstanceGroupKind",
    "ModelInstanceGroupSecondaryDevice",
    "ModelInstanceGroupSecondaryDeviceSecondaryDeviceKind",
    "ModelRateLimiter",
    "ModelRateLimiterResource",
]


class ModelInstanceGroupKind(StrEnum):
    """Where a group's instances run; KIND_GPU means the NPU here, as Ascend users write it."""

    KIND_AUTO = "KIND_AUTO"
    KIND_GPU = "KIND_GPU"
    KIND_CPU = "KIND_CPU"
    KIND_MODEL = "KIND_MODEL"


class ModelInstanceGroupSecondaryDeviceSecondaryDeviceKind(StrEnum):
    """Kinds of helper devices; NVIDIA's DLA is the only one."""

    KIND_NVDLA = "KIND_NVDLA"


@dataclass(frozen=True, slots=True)
class ModelRateLimiterResource:
    """A resource an instance takes while it runs; ``global`` is named ``global_`` here, a Python keyword."""

    name: str = ""
    global_: bool = False
    count: int = 0


@dataclass(frozen=True, slots=True)
class ModelRateLimiter:
    """What the group's instances need to run, and their weight among those that wait."""

    resources: tuple[ModelRateLimiterResource, ...] = ()
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ModelInstanceGroupSecondaryDevice:
    """A helper device of an instance."""

    kind: ModelInstanceGroupSecondaryDeviceSecondaryDeviceKind = (
        ModelInstanceGroupSecondaryDeviceSecondaryDeviceKind.KIND_NVDLA
    )
    device_id: int = 0


@dataclass(frozen=True, slots=True)
class ModelInstanceGroup:
    """``count`` instances on each device of ``gpus``, or in all for KIND_CPU and KIND_MODEL."""

    name: str = ""
    kind: ModelInstanceGroupKind = ModelInstanceGroupKind.KIND_AUTO
    count: int = 0
    rate_limiter: ModelRateLimiter | None = None
    gpus: tuple[int, ...] = ()
    secondary_devices: tuple[ModelInstanceGroupSecondaryDevice, ...] = ()
    profile: tuple[str, ...] = ()
    passive: bool = False
    host_policy: str = ""
