"""Triton's families of the machine: pinned memory, the host, and devices, which are NPUs under ``nv_gpu_``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ascend_infer.metrics.family import Family, Kind
from ascend_infer.metrics.host import HostReading
from ascend_infer.metrics.readings import DeviceReading

__all__ = ["machine_families"]

_DEVICE: tuple[tuple[str, Kind, str, Callable[[DeviceReading], float | None]], ...] = (
    (
        "nv_gpu_utilization",
        "gauge",
        "GPU utilization rate [0.0 - 1.0)",
        lambda device: device.utilization,
    ),
    (
        "nv_gpu_memory_total_bytes",
        "gauge",
        "GPU total memory, in bytes",
        lambda device: device.memory_total_bytes,
    ),
    (
        "nv_gpu_memory_used_bytes",
        "gauge",
        "GPU used memory, in bytes",
        lambda device: device.memory_used_bytes,
    ),
    ("nv_gpu_power_usage", "gauge", "GPU power usage in watts", lambda device: device.power_watts),
    (
        "nv_gpu_power_limit",
        "gauge",
        "GPU power management limit in watts",
        lambda device: device.power_limit_watts,
    ),
    (
        "nv_energy_consumption",
        "counter",
        "GPU energy consumption in joules since the Triton Server started",
        lambda device: device.energy_joules,
    ),
)


def machine_families(devices: Mapping[str, DeviceReading], host: HostReading) -> list[Family]:
    """Build them from what was read; what could not be read has no family."""
    pinned = [device.pinned.stats for device in devices.values() if device.pinned is not None]
    families = [
        _single(
            "nv_pinned_memory_pool_total_bytes",
            "Pinned memory pool total memory size, in bytes",
            sum(stats.reserved_bytes for stats in pinned),
        ),
        _single(
            "nv_pinned_memory_pool_used_bytes",
            "Pinned memory pool used memory size, in bytes",
            sum(stats.active_bytes for stats in pinned),
        ),
        *(_of_devices(devices, *row) for row in _DEVICE),
        _single("nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]", host.cpu_utilization),
        _single("nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes", host.memory_total_bytes),
        _single("nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes", host.memory_used_bytes),
    ]
    return [family for family in families if family.samples]


def _single(name: str, text: str, value: float | None) -> Family:
    family = Family(name, "gauge", text)
    if value is not None:
        family.add((), value)
    return family


def _of_devices(
    devices: Mapping[str, DeviceReading],
    name: str,
    kind: Kind,
    text: str,
    read: Callable[[DeviceReading], float | None],
) -> Family:
    family = Family(name, kind, text)
    for device, reading in devices.items():
        value = read(reading)
        if value is not None:
            family.add((("gpu_uuid", device),), value)
    return family
