"""What real sessions count: statistics(), metrics.text() and the timing of their results agree to the nanosecond."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from held_model import LIMIT, Caller
from metric_pages import parsed

import ascend_infer as ai
from ascend_infer import metrics
from ascend_infer.errors import DeadlineExceededError, InvalidInputError
from ascend_infer.result import InferResult

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

CONFIG = """
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""
#: Nothing goes before 5 rows are there, or all 8; no test waits as long.
BATCHED = (
    CONFIG + "dynamic_batching { preferred_batch_size: [ 5 ] max_queue_delay_microseconds: 3600000000 }\n"
)
WARM_UP = """
model_warmup [
  { name: "pair" batch_size: 2 count: 3 inputs { key: "x" value: { data_type: TYPE_FP32 dims: 4 zero_data: true } } }
]
"""

PHASES = ("queue", "compute_input", "compute_infer", "compute_output")


def scale(tmp_path: Path, config: str = CONFIG) -> Path:
    return made.model_directory(tmp_path, "counted", made.scale(2.0), config)


def rows(count: int) -> dict[str, Any]:
    return {"x": np.ones((count, 4), np.float32)}


def stats_of(session: ai.Session) -> dict[str, Any]:
    [model] = session.statistics()["model_stats"]
    found: dict[str, Any] = model
    return found


def shown(name: str, reason: str | None = None) -> float:
    """Return the value of a family in metrics.text(), of the one session that is open."""
    [value] = [
        value
        for (family, labels), value in parsed(metrics.text()).items()
        if family == name
        and dict(labels)["model"] == "counted"
        and (reason is None or dict(labels)["reason"] == reason)
    ]
    return value


def page_agrees(stats: dict[str, Any]) -> None:
    inference = stats["inference_stats"]
    assert shown("nv_inference_request_success") == inference["success"]["count"]
    assert shown("nv_inference_count") == stats["inference_count"]
    assert shown("nv_inference_exec_count") == stats["execution_count"]
    assert shown("nv_inference_request_duration_us") == inference["success"]["ns"] // 1000
    for phase in PHASES:
        assert shown(f"nv_inference_{phase}_duration_us") == inference[phase]["ns"] // 1000, phase
    reasons = ("REJECTED", "CANCELED", "BACKEND", "OTHER")
    failed = sum(shown("nv_inference_request_failure", reason) for reason in reasons)
    assert failed == inference["fail"]["count"]
    assert shown("nv_inference_pending_request_count") == 0


def adds_up(stats: dict[str, Any], batches: Sequence[tuple[int, Sequence[InferResult]]]) -> None:
    """Check what was counted against results, given as the rows of each batch and the results of its requests."""
    results = [result for _, together in batches for result in together]
    inference = stats["inference_stats"]
    assert stats["execution_count"] == len(batches)
    assert stats["inference_count"] == sum(size for size, _ in batches)
    assert inference["success"] == {
        "count": len(results),
        "ns": sum(result.timing.total_ns for result in results),
    }
    for phase in PHASES:
        whole = sum(getattr(result.timing, f"{phase}_ns") for result in results)
        assert inference[phase] == {"count": len(results), "ns": whole}, phase
    assert inference["success"]["ns"] == sum(inference[phase]["ns"] for phase in PHASES)
    assert [entry["batch_size"] for entry in stats["batch_stats"]] == sorted({size for size, _ in batches})
    for entry in stats["batch_stats"]:
        of_size = [together for size, together in batches if size == entry["batch_size"]]
        for phase in ("compute_infer", "compute_output"):
            # A batch counts once, and its whole time for each of its requests.
            times = [{getattr(result.timing, f"{phase}_ns") for result in together} for together in of_size]
            assert {len(found) for found in times} == {1}, "requests of one batch took the same"
            assert entry[phase] == {"count": len(of_size), "ns": sum(map(sum, times))}, phase
        # Of the requests' own input time that of the batch is only the second part.
        gathered = entry["compute_input"]
        assert gathered["count"] == len(of_size)
        most = sum(min(result.timing.compute_input_ns for result in together) for together in of_size)
        assert 0 <= gathered["ns"] <= most
        assert entry["compute_infer"]["ns"] > 0


def test_a_batch_counts_once_and_each_of_its_requests_too(device: str, tmp_path: Path) -> None:
    batches: list[tuple[int, list[InferResult]]] = []
    with ai.Session(scale(tmp_path, BATCHED), device=device) as session:
        for _ in range(3):
            futures = [session.submit(rows(count)) for count in (1, 1, 2)]
            last = session.infer(rows(1))
            together = [*(future.result(LIMIT) for future in futures), last]
            assert [result.timing.batch_rows for result in together] == [5] * 4
            batches.append((5, together))

        async def awaited() -> list[InferResult]:
            return await asyncio.gather(session.ainfer(rows(3)), session.ainfer(rows(2)))

        batches.append((5, asyncio.run(awaited())))
        batches.extend((8, [session.infer(rows(8))]) for _ in range(2))
        stats = stats_of(session)
        adds_up(stats, batches)
        assert [entry["compute_infer"]["count"] for entry in stats["batch_stats"]] == [4, 2]
        page_agrees(stats)


def test_requests_by_themselves_on_every_kind_of_thread(device: str, tmp_path: Path) -> None:
    out = np.zeros((3, 4), np.float32)
    with ai.Session(scale(tmp_path), device=device) as session:
        results = [session.infer(rows(3)) for _ in range(3)]
        results.append(session.infer(rows(3), ["y"], out={"y": out}))
        results.append(session.infer(rows(3), timeout=LIMIT))
        results.append(session.submit(rows(3)).result(LIMIT))
        results.append(Caller(lambda: session.infer(rows(3))).outcome())
        results.append(session.infer({"x": rows(1)["x"][0]}, batched=False))
        stats = stats_of(session)
        sizes = [3] * 7 + [1]
        adds_up(stats, [(size, [result]) for size, result in zip(sizes, results, strict=True)])
        page_agrees(stats)


def test_what_a_result_tells_lies_within_the_call(device: str, tmp_path: Path) -> None:
    with ai.Session(scale(tmp_path), device=device) as session:
        for call in (
            lambda: session.infer(rows(2)),
            lambda: session.infer(rows(2), ["y"], timeout=LIMIT),
            lambda: session.submit(rows(2)).result(LIMIT),
        ):
            for _ in range(3):
                began = time.perf_counter_ns()
                result = call()
                took = time.perf_counter_ns() - began
                assert 0 < result.timing.total_ns <= took
                assert min(result.timing[:4]) >= 0
                assert result.timing.compute_infer_ns > 0


def test_the_time_in_the_queue_is_the_wait_for_company(device: str, tmp_path: Path) -> None:
    with ai.Session(scale(tmp_path, BATCHED), device=device) as session:
        session.infer(rows(8))
        began = time.perf_counter_ns()
        first = session.submit(rows(2))
        first_queued = time.perf_counter_ns()
        second = session.submit(rows(2))
        second_queued = time.perf_counter_ns()
        before_last = time.perf_counter_ns()
        last = session.infer(rows(1))
        ended = time.perf_counter_ns()
        queued = [result.timing.queue_ns for result in (first.result(LIMIT), second.result(LIMIT), last)]
        assert before_last - first_queued <= queued[0] <= ended - began
        assert before_last - second_queued <= queued[1] <= ended - first_queued
        assert 0 <= queued[2] <= ended - before_last
        assert queued == sorted(queued, reverse=True), "who came first has waited longest"


def test_what_fails_counts_by_its_reason_and_nowhere_else(device: str, tmp_path: Path) -> None:
    with ai.Session(scale(tmp_path, BATCHED), device=device) as session:
        assert session.submit(rows(1)).cancel()
        with pytest.raises(InvalidInputError):
            session.infer({"x": np.ones((1, 5), np.float32)})
        with pytest.raises(InvalidInputError):
            session.submit(rows(9))
        for call in (
            lambda: session.infer(rows(1), timeout=0.01),
            lambda: session.submit(rows(1), timeout=0.01).result(LIMIT),
        ):
            with pytest.raises(DeadlineExceededError):
                call()
        stats = stats_of(session)
        assert stats["inference_count"] == stats["execution_count"] == 0
        assert stats["batch_stats"] == []
        fail = stats["inference_stats"].pop("fail")
        assert fail["count"] == 5
        assert fail["ns"] >= 2 * 10_000_000, "two have waited for 0.01 s"
        assert list(stats["inference_stats"].values()) == [{"count": 0, "ns": 0}] * 7
        stats["inference_stats"]["fail"] = fail
        page_agrees(stats)
        for reason, count in {"REJECTED": 2, "CANCELED": 1, "BACKEND": 0, "OTHER": 2}.items():
            assert shown("nv_inference_request_failure", reason) == count, reason
        session.infer(rows(8))
        stats = stats_of(session)
        assert stats["inference_stats"]["fail"] == fail
        assert stats["inference_count"] == 8
        page_agrees(stats)


@pytest.mark.parametrize("config", [CONFIG, BATCHED], ids=["alone", "batched"])
def test_warm_up_does_not_count(device: str, tmp_path: Path, config: str) -> None:
    with ai.Session(scale(tmp_path, config + WARM_UP), device=device) as session:
        stats = stats_of(session)
        assert (stats["inference_count"], stats["execution_count"], stats["last_inference"]) == (0, 0, 0)
        assert stats["batch_stats"] == []
        assert list(stats["inference_stats"].values()) == [{"count": 0, "ns": 0}] * 8
        page_agrees(stats)
        result = session.infer(rows(8))
        stats = stats_of(session)
        adds_up(stats, [(8, [result])])
        page_agrees(stats)
        assert stats["last_inference"] > 0


def test_a_new_session_begins_anew(device: str, tmp_path: Path) -> None:
    folder = scale(tmp_path)
    for _ in range(2):
        with ai.Session(folder, device=device) as session:
            result = session.infer(rows(2))
            stats = stats_of(session)
            adds_up(stats, [(2, [result])])
            page_agrees(stats)
    assert "counted" not in metrics.text()
