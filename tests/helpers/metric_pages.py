"""Metrics to test with: registries apart from the process' own, fed by hand, and a host that stands still."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from ascend_infer.memory import OwnerUsage, PoolStats
from ascend_infer.metrics.host import HostReader
from ascend_infer.metrics.page import MetricsPage
from ascend_infer.metrics.readings import DeviceReading, InstanceReading, PoolReading
from ascend_infer.metrics.registry import Registry

MS = 1_000_000


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Read a text with prometheus_client's parser: name and sorted labels to value.

    Of counters it knows the names that OpenMetrics gives them only, and renames ours; without their type it does not.
    """
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in text_string_to_metric_families(
        re.sub(r"^(# TYPE \S+) counter$", r"\1 untyped", text, flags=re.M)
    ):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            found[key] = sample.value
    return found


def proc(folder: Path, busy: int = 30, idle: int = 70) -> Path:
    """Write a ``/proc`` of these ticks and 1000 KiB, 400 of them available."""
    folder.mkdir(exist_ok=True)
    (folder / "stat").write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 1\n")
    (folder / "meminfo").write_text("MemTotal:        1000 kB\nMemFree: 1 kB\nMemAvailable:     400 kB\n")
    return folder


def pool(**numbers: int) -> PoolStats:
    known: dict[str, Any] = dict.fromkeys(PoolStats.__slots__, 0)
    return PoolStats(**{**known, "limit_bytes": None, **numbers})


def card(**numbers: Any) -> DeviceReading:
    """A device of which everything is known."""
    owners = (
        OwnerUsage("weights of net", 100, 100, 1, 1),
        OwnerUsage("workspace of net_0", 20, 20, 1, 1),
        OwnerUsage("workspace of net_1", 30, 30, 1, 1),
        OwnerUsage("weights of net_0x", 7, 7, 1, 1),
        OwnerUsage("unnamed", 5, 5, 1, 1),
    )
    facts: dict[str, Any] = {
        "utilization": 0.25,
        "memory_used_bytes": 3 << 30,
        "memory_total_bytes": 8 << 30,
        "power_watts": 71.5,
        "power_limit_watts": 300.0,
        "energy_joules": 1234.5,
        "pool": PoolReading(pool(active_bytes=162, held_bytes=38, reserved_bytes=200, failures=2), owners),
        "pinned": PoolReading(
            pool(active_bytes=64, reserved_bytes=128), (OwnerUsage("staging of net_0", 64, 64, 1, 1),)
        ),
    }
    return DeviceReading(**{**facts, **numbers})


def page(folder: Path) -> MetricsPage:
    """A page of no model on a host that stands still."""
    return MetricsPage(Registry(), HostReader(proc(folder)))


def full_page(folder: Path) -> tuple[MetricsPage, list[Any]]:
    """A page with a sample in every family there is, and the registrations that keep it so."""
    made = page(folder)
    made.registry.configure(histogram_latencies=True, summary_latencies=True)
    devices: Mapping[str, Any] = {"npu:0": card}
    entries = [
        made.registry.register(
            name,
            version,
            device="npu:0",
            load_seconds=1.5,
            instances=lambda: InstanceReading(2, 1, 4, 3, 1),
            devices=devices,
        )
        for name, version in (("net", 1), ('a "b"\\c\nd', None))
    ]
    for number, entry in enumerate(entries):
        entry.counters.pending += number
        entry.counters.record_batch(5, 3, 10_000, 2 * MS, 30_000)
        entry.counters.record_request(4, 150 * MS, 3 * MS, 10_000, 2 * MS, 30_000)
        entry.counters.record_request(1, 4 * MS, 1 * MS, 10_000, 2 * MS, 30_000)
        entry.counters.record_failure(0, 7 * MS)
    return made, entries
