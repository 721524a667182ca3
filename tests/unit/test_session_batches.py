"""Requests of a session that ran in one batch: their numbers, and rows that are reshaped on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed
from scale_model import CONFIG, scale_directory

import ascend_infer as ai
from ascend_infer import Batching, metrics

#: Two requests that make four rows run at once; nothing smaller does within the test.
FULL = Batching(preferred_batch_size=(4,), max_queue_delay_microseconds=60_000_000)
RESHAPED = CONFIG.replace("dims: [ 4 ] }", "dims: [ 2, 2 ] reshape { shape: [ 4 ] } }").replace(
    'dims: [ 4 ] label_filename: "labels.txt"', "dims: [ 2, 2 ] reshape { shape: [ 4 ] }"
)
WARM = CONFIG + (
    'model_warmup { name: "zeros" batch_size: 2 '
    'inputs { key: "x" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }'
)


def together(session: ai.Session, *rows: int, shape: tuple[int, ...] = (4,)) -> list[ai.InferResult]:
    """Run requests of so many rows in one batch; row values are 0, 1, 2, ... in order of the requests."""
    first, futures = 0, []
    for count in rows:
        values = np.arange(first, first + count, dtype=np.float32).reshape(-1, *[1] * len(shape))
        futures.append(session.submit({"x": np.broadcast_to(values, (count, *shape)).copy()}))
        first += count
    return [future.result(30) for future in futures]


def test_statistics_timing_and_metrics_tell_the_same(tmp_path: Path) -> None:
    with ai.Session(scale_directory(tmp_path), device="cpu", version=2, batching=FULL) as session:
        results = together(session, 1, 3)
        [model] = session.statistics()["model_stats"]
        text = metrics.text()
    assert (model["inference_count"], model["execution_count"]) == (4, 1)
    [batch] = model["batch_stats"]
    assert batch["batch_size"] == 4
    stats, timings = model["inference_stats"], [result.timing for result in results]
    assert {timing.batch_rows for timing in timings} == {4}
    assert stats["success"]["count"] == 2
    assert stats["queue"]["ns"] == sum(timing.queue_ns for timing in timings)
    assert stats["compute_infer"]["ns"] == sum(timing.compute_infer_ns for timing in timings)
    assert batch["compute_infer"] == {"count": 1, "ns": timings[0].compute_infer_ns}
    # The first one waited for the second; all of a request's time is in one of the parts.
    assert timings[0].queue_ns > timings[1].queue_ns
    parts = ("queue", "compute_input", "compute_infer", "compute_output")
    assert stats["success"]["ns"] == sum(stats[part]["ns"] for part in parts)
    shown = {
        sample.name.removesuffix("_total"): sample.value
        for family in parsed(text)
        for sample in family.samples
        if sample.labels.get("model") == "scale" and sample.labels.get("version") == "2"
    }
    assert shown["nv_inference_count"] == 4
    assert shown["nv_inference_exec_count"] == 1
    assert shown["nv_inference_request_success"] == 2
    assert shown["nv_inference_queue_duration_us"] == stats["queue"]["ns"] // 1000


def test_rows_that_are_reshaped_come_back_to_their_requests(tmp_path: Path) -> None:
    folder = scale_directory(tmp_path)
    (folder / "config.pbtxt").write_text(RESHAPED)
    with ai.Session(folder, device="cpu", version=2, batching=FULL) as session:
        results = together(session, 3, 1, shape=(2, 2))
    assert [result["y"].shape for result in results] == [(3, 2, 2), (1, 2, 2)]
    assert [result.timing.batch_rows for result in results] == [4, 4]
    assert results[0]["y"][:, 0, 0].tolist() == [0, 2, 4]
    assert (results[1]["y"] == 6).all()


@pytest.mark.parametrize("batching", [False, True])
def test_runs_that_warm_up_are_not_counted(tmp_path: Path, batching: bool) -> None:
    folder = scale_directory(tmp_path)
    (folder / "config.pbtxt").write_text(WARM)
    with ai.Session(folder, device="cpu", version=1, batching=batching) as session:
        [model] = session.statistics()["model_stats"]
        assert (model["inference_count"], model["execution_count"], model["batch_stats"]) == (0, 0, [])
        session.infer({"x": np.ones((1, 4), np.float32)})
        [model] = session.statistics()["model_stats"]
        assert (model["inference_count"], model["execution_count"]) == (1, 1)
