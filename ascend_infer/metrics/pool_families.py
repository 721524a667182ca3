"""Families of the memory pools, by device and, for what is in use, by the kind of its owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ascend_infer.memory import OwnerUsage
from ascend_infer.metrics.family import Family
from ascend_infer.metrics.readings import DeviceReading, PoolReading

__all__ = ["pool_families"]

_STATES = (
    ("active", "Bytes of the pool in use"),
    ("held", "Bytes free in the pool"),
    ("reserved", "Bytes taken from the runtime"),
    ("peak_active", "Most bytes in use since the pool was opened"),
    ("peak_reserved", "Most bytes taken from the runtime since the pool was opened"),
)


def pool_families(devices: Mapping[str, DeviceReading]) -> list[Family]:
    """Build them from what was read; none without a pool."""
    pools = [
        (name, kind, pool)
        for name, device in devices.items()
        for kind, pool in (("device", device.pool), ("pinned", device.pinned))
        if pool is not None
    ]
    if not pools:
        return []
    return [
        *(_of_state(pools, state, text) for state, text in _STATES),
        _of_owners(pools),
        _upstream(pools),
        _failures(pools),
    ]


_Pools = Iterable[tuple[str, str, PoolReading]]


def _of_state(pools: _Pools, state: str, text: str) -> Family:
    family = Family(f"ascend_memory_pool_{state}_bytes", "gauge", text)
    for device, kind, pool in pools:
        family.add((("device", device), ("pool", kind)), getattr(pool.stats, f"{state}_bytes"))
    return family


def _of_owners(pools: _Pools) -> Family:
    text = "Bytes of the pool in use, by the kind of their owner: weights, workspace, slots, staging"
    family = Family("ascend_memory_pool_owner_bytes", "gauge", text)
    for device, kind, pool in pools:
        sums: dict[str, int] = {}
        for owner in pool.owners:
            sums[_kind(owner)] = sums.get(_kind(owner), 0) + owner.active_bytes
        for owner_kind in sorted(sums):
            family.add((("device", device), ("owner", owner_kind), ("pool", kind)), sums[owner_kind])
    return family


def _kind(owner: OwnerUsage) -> str:
    """``"weights of resnet50"`` is of the kind ``weights``; what has no such name is of the kind ``other``."""
    kind, of, _ = owner.name.partition(" of ")
    return kind if of and kind.isidentifier() else "other"


def _upstream(pools: _Pools) -> Family:
    text = "Calls of the runtime's allocator; a steady state makes none"
    family = Family("ascend_memory_pool_upstream_calls_total", "counter", text)
    for device, kind, pool in pools:
        calls = pool.stats.upstream_allocations + pool.stats.upstream_frees
        family.add((("device", device), ("pool", kind)), calls)
    return family


def _failures(pools: _Pools) -> Family:
    text = "Requests for memory that were refused"
    family = Family("ascend_memory_pool_failures_total", "counter", text)
    for device, kind, pool in pools:
        family.add((("device", device), ("pool", kind)), pool.stats.failures)
    return family
