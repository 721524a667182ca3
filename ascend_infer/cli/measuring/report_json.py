"""Measurements as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ascend_infer.perf import Measurement, Settings

__all__ = ["report_json"]


def report_json(where: dict[str, Any], settings: Settings, found: Sequence[Measurement]) -> dict[str, Any]:
    """Return plain JSON types; times in microseconds, as in the CSV file but with their fractions."""
    return {**where, "settings": asdict(settings), "measurements": [_measurement(one) for one in found]}


def _measurement(found: Measurement) -> dict[str, Any]:
    latencies, server = found.latencies, found.server
    return {
        found.kind if found.kind == "concurrency" else "request_rate": found.level,
        "stable": found.stable,
        "windows": found.windows,
        "over_limit": found.over_limit,
        "requests": found.requests,
        "duration_s": found.duration_s,
        "throughput": found.throughput,
        "answered_per_s": found.request_rate,
        "delayed_requests": found.delayed,
        "caller_overhead": found.overhead,
        "latency_us": {
            "mean": latencies.mean / 1e3,
            "deviation": latencies.deviation / 1e3,
            **{f"p{percent}": value / 1e3 for percent, value in latencies.percentiles.items()},
        },
        "server": {
            "inference_count": server.inferences,
            "execution_count": server.executions,
            "request_count": server.requests,
            **{
                f"{name}_us": server.mean(name) / 1e3
                for name in ("total", "queue", "input", "infer", "output")
            },
        },
    }
