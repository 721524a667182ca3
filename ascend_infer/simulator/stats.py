"""What the simulator counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["DeviceStats", "SimulatorStats"]


@dataclass(frozen=True, slots=True)
class DeviceStats:
    """One simulated card.

    Attributes
    ----------
    id : int
    sets : int
        ``aclrtSetDevice`` calls that no ``aclrtResetDevice`` has undone.
    total_bytes, used_bytes, peak_bytes : int
        Of its memory, pages counted whole.
    allocations, streams, events : int
        That live; streams include default streams that were used.
    h2d_bytes, d2h_bytes, d2d_bytes : int
        Copied since the start.
    executions : int
    busy_ns : int
        Time that it computed.
    """

    id: int
    sets: int
    total_bytes: int
    used_bytes: int
    peak_bytes: int
    allocations: int
    streams: int
    events: int
    h2d_bytes: int
    d2h_bytes: int
    d2d_bytes: int
    executions: int
    busy_ns: int


@dataclass(frozen=True, slots=True)
class SimulatorStats:
    """The whole machine, at one moment.

    Attributes
    ----------
    initialized : int
        ``aclInit`` calls that count.
    soc : str
    models : int
        Loaded ones.
    pinned_blocks, pinned_bytes, pinned_peak_bytes : int
        Pinned host memory.
    copies_in_flight : int
        Asynchronous copies and fills that are queued or running.
    handles : mapping of str to int
        Live handles by kind: ``"stream"``, ``"event"``, ``"dataset"``, ``"data_buffer"``...
    devices : tuple of DeviceStats
    violations : mapping of str to int
        What a card would have punished, or hidden, by what it was.
    calls, failures : mapping of str to int
        By function; those that were not called are absent.
    """

    initialized: int
    soc: str
    models: int
    pinned_blocks: int
    pinned_bytes: int
    pinned_peak_bytes: int
    copies_in_flight: int
    handles: Mapping[str, int]
    devices: tuple[DeviceStats, ...]
    violations: Mapping[str, int]
    calls: Mapping[str, int]
    failures: Mapping[str, int]

    @classmethod
    def from_json(cls, text: str) -> SimulatorStats:
        """Read the library's report."""
        values: dict[str, Any] = json.loads(text)
        values["devices"] = tuple(DeviceStats(**entry) for entry in values["devices"])
        return cls(**values)
