"""Triton's statistics: its keys, and numbers that agree with the counters."""

from __future__ import annotations

import json

from metric_pages import MS, card

from ascend_infer._native import ModelCounters
from ascend_infer.metrics.snapshot import CountersSnapshot
from ascend_infer.metrics.statistics import MemoryUse, ModelStatistics, memory_usage, statistics

#: One model of a Triton 2.51's answer, with its values replaced by their types.
FORM = {
    "name": "str",
    "version": "str",
    "last_inference": "int",
    "inference_count": "int",
    "execution_count": "int",
    "inference_stats": {
        name: {"count": "int", "ns": "int"}
        for name in (
            *("success", "fail", "queue", "compute_input", "compute_infer", "compute_output"),
            *("cache_hit", "cache_miss"),
        )
    },
    "response_stats": {},
    "batch_stats": [
        {
            "batch_size": "int",
            **{
                name: {"count": "int", "ns": "int"}
                for name in ("compute_input", "compute_infer", "compute_output")
            },
        }
    ],
    "memory_usage": [{"type": "str", "id": "int", "byte_size": "int"}],
}


def form(value: object) -> object:
    if isinstance(value, dict):
        return {key: form(item) for key, item in value.items()}
    if isinstance(value, list):
        return [form(item) for item in value[:1]]
    return type(value).__name__


def test_the_form_is_tritons() -> None:
    counters = ModelCounters()
    counters.record_batch(5, 3, 10, 2 * MS, 30)
    counters.record_batch(2, 0, 1, 1 * MS, 3)  # of requests that failed
    counters.record_request(4, 5 * MS, 3 * MS, 10, 2 * MS, 30)
    counters.record_request(1, 4 * MS, 1 * MS, 10, 2 * MS, 30)
    counters.record_failure(2, 9 * MS)
    found = statistics([ModelStatistics("net", 3, counters.snapshot(), (MemoryUse("GPU", 0, 7),))])
    [model] = found["model_stats"]
    assert form(model) == FORM
    assert json.loads(json.dumps(found)) == found
    assert list(model) == list(FORM)
    assert (model["name"], model["version"]) == ("net", "3")
    assert (model["inference_count"], model["execution_count"]) == (5, 2)
    assert model["inference_stats"]["success"] == {"count": 2, "ns": 9 * MS}
    assert model["inference_stats"]["fail"] == {"count": 1, "ns": 9 * MS}
    assert model["inference_stats"]["queue"] == {"count": 2, "ns": 4 * MS}
    assert model["inference_stats"]["compute_infer"] == {"count": 2, "ns": 4 * MS}
    assert [batch["batch_size"] for batch in model["batch_stats"]] == [2, 5]
    assert model["batch_stats"][1]["compute_infer"] == {"count": 1, "ns": 2 * MS}


def test_a_model_that_never_ran() -> None:
    [model] = statistics([ModelStatistics("net", None, CountersSnapshot())])["model_stats"]
    assert model["version"] == "1"
    assert model["last_inference"] == 0
    assert model["batch_stats"] == model["memory_usage"] == []


def test_memory_is_that_of_the_models_own_blocks() -> None:
    assert memory_usage("net", {"npu:2": card()}) == (
        MemoryUse("GPU", 2, 150),
        MemoryUse("CPU_PINNED", 0, 64),
    )
    assert memory_usage("net_0x", {"npu:2": card()}) == (MemoryUse("GPU", 2, 7),)
    assert memory_usage("other", {"npu:2": card()}) == ()
    assert memory_usage("net", {"npu:2": card(pool=None, pinned=None)}) == ()


def test_pinned_memory_for_several_devices_is_stated_once() -> None:
    assert memory_usage("net", {"npu:0": card(), "npu:2": card()}) == (
        MemoryUse("GPU", 0, 150),
        MemoryUse("CPU_PINNED", 0, 128),
        MemoryUse("GPU", 2, 150),
    )
