"""Numbers of a memory pool, as its ``stats()`` and ``owners()`` give them. Imports nothing compiled."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OwnerUsage", "PoolStats", "readable_size"]


def readable_size(count: int) -> str:
    """Bytes in the largest unit that leaves a readable number, exact below 10 KiB."""
    if count < 10 * 1024:
        return f"{count} bytes"
    number = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        number /= 1024
        if number < 1024:
            return f"{number:.1f} {unit}"
    return f"{number / 1024:.1f} PiB"


@dataclass(frozen=True, slots=True)
class OwnerUsage:
    """What one owner holds of a pool: a model's weights, an instance's workspace or slot buffers.

    Attributes
    ----------
    name : str
    active_bytes, peak_active_bytes : int
        Bytes of its blocks as they lie in the pool, now and at most since the owner appeared.
    active_blocks : int
    allocations : int
        Blocks it was given since it appeared. An owner disappears with its last block.
    """

    name: str
    active_bytes: int
    peak_active_bytes: int
    active_blocks: int
    allocations: int


@dataclass(frozen=True, slots=True)
class PoolStats:
    """A pool's numbers at one moment. ``active_bytes + held_bytes == reserved_bytes``, always.

    Attributes
    ----------
    active_bytes : int
        In use, rounded up as the pool rounds.
    held_bytes : int
        Free in the pool.
    reserved_bytes : int
        Taken from the upstream.
    requested_bytes : int
        In use, as asked for: ``active_bytes`` less what rounding costs.
    peak_active_bytes, peak_reserved_bytes : int
        Highest since the pool was opened.
    largest_held_bytes : int
        The largest free block.
    limit_bytes : int or None
        Most that the pool may reserve; None when only the upstream bounds it.
    active_blocks, held_blocks : int
    regions : int
        Pieces that came from the upstream in one call each; blocks never span two.
    allocations, frees : int
        Blocks given and taken back.
    failures : int
        Requests refused for want of memory.
    upstream_allocations, upstream_frees : int
        Calls of the upstream, failed ones too. Unchanged between two moments: the steady state.
    """

    active_bytes: int
    held_bytes: int
    reserved_bytes: int
    requested_bytes: int
    peak_active_bytes: int
    peak_reserved_bytes: int
    largest_held_bytes: int
    limit_bytes: int | None
    active_blocks: int
    held_blocks: int
    regions: int
    allocations: int
    frees: int
    failures: int
    upstream_allocations: int
    upstream_frees: int

    @property
    def fragmentation(self) -> float:
        """Share of the free memory that its largest block cannot serve, 0 to 1; 0 when nothing is free."""
        return 1 - self.largest_held_bytes / self.held_bytes if self.held_bytes else 0.0
