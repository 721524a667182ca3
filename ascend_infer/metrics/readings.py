"""What is read at the moment of a scrape: devices with their pools, and instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from ascend_infer.errors import AscendInferError
from ascend_infer.memory import OwnerUsage, PoolStats

__all__ = ["DeviceReading", "InstanceReading", "PoolReading", "device_readers", "read_device"]


@dataclass(frozen=True, slots=True)
class InstanceReading:
    """How many copies of a model there are, and how many batches they run.

    Attributes
    ----------
    ready, unavailable : int
        Instances that take work, and those that hang, are loaded anew after a fault, or are out of service for good.
    slots, busy_slots : int
        Batches that may be in flight at once, and those that are.
    abandoned_threads : int
        Threads that are still in a run that was given up.
    """

    ready: int = 0
    unavailable: int = 0
    slots: int = 0
    busy_slots: int = 0
    abandoned_threads: int = 0

    def __add__(self, other: InstanceReading) -> InstanceReading:
        return InstanceReading(
            self.ready + other.ready,
            self.unavailable + other.unavailable,
            self.slots + other.slots,
            self.busy_slots + other.busy_slots,
            self.abandoned_threads + other.abandoned_threads,
        )


@dataclass(frozen=True, slots=True)
class PoolReading:
    """A pool's numbers and who holds what of it."""

    stats: PoolStats
    owners: tuple[OwnerUsage, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceReading:
    """One device at one moment; None is what its runtime does not tell.

    Attributes
    ----------
    utilization : float or None
        Share of its cube cores' time that is used, 0 to 1.
    memory_used_bytes, memory_total_bytes : int or None
        Of the device, other processes counted.
    power_watts, power_limit_watts, energy_joules : float or None
        ACL has no function for them.
    pool, pinned : PoolReading or None
        Device memory, and pinned host memory.
    """

    utilization: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    power_watts: float | None = None
    power_limit_watts: float | None = None
    energy_joules: float | None = None
    pool: PoolReading | None = None
    pinned: PoolReading | None = None


class _Pool(Protocol):
    def stats(self) -> PoolStats: ...
    def owners(self) -> Sequence[OwnerUsage]: ...


class _Device(Protocol):
    def memory(self) -> tuple[int, int, str]: ...
    def utilization(self) -> float | None: ...


class _OpenDevice(Protocol):
    """A device that models share, with its pools; :class:`ascend_infer.backends.acl_device.SharedDevice` is one."""

    @property
    def device(self) -> _Device: ...
    @property
    def pool(self) -> _Pool: ...
    @property
    def pinned(self) -> _Pool: ...


def read_device(shared: _OpenDevice) -> DeviceReading:
    """Read an open device and its pools; what it refuses is left out."""
    free: int | None = None
    total: int | None = None
    utilization: float | None = None
    with suppress(AscendInferError):
        free, total, _ = shared.device.memory()
    with suppress(AscendInferError):
        utilization = shared.device.utilization()
    return DeviceReading(
        utilization=utilization,
        memory_used_bytes=None if free is None or total is None else total - free,
        memory_total_bytes=total,
        pool=PoolReading(shared.pool.stats(), tuple(shared.pool.owners())),
        pinned=PoolReading(shared.pinned.stats(), tuple(shared.pinned.owners())),
    )


def device_readers(model: object) -> dict[str, Callable[[], DeviceReading]]:
    """Return what to ask about the devices that a loaded model is on, by name; nothing for one on the CPU."""
    shared: Mapping[str, _OpenDevice] = getattr(model, "shared_devices", {})
    return {name: partial(read_device, device) for name, device in shared.items()}
