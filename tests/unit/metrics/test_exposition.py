"""The text: what Prometheus' own parser reads out of it, and that names, types and help are Triton's."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from metric_pages import full_page, page, parsed
from prometheus_client.parser import text_string_to_metric_families

from ascend_infer.metrics.exposition import number, render
from ascend_infer.metrics.family import Family

#: Name, type and help of each family, as a Triton 2.51 printed them.
TRITON = """
nv_inference_request_success counter Number of successful inference requests, all batch sizes
nv_inference_request_failure counter Number of failed inference requests, all batch sizes
nv_inference_count counter Number of inferences performed (does not include cached requests)
nv_inference_exec_count counter Number of model executions performed (does not include cached requests)
nv_inference_request_duration_us counter Cumulative inference request duration in microseconds (includes cached requests)
nv_inference_queue_duration_us counter Cumulative inference queuing duration in microseconds (includes cached requests)
nv_inference_compute_input_duration_us counter Cumulative compute input duration in microseconds (does not include cached requests)
nv_inference_compute_infer_duration_us counter Cumulative compute inference duration in microseconds (does not include cached requests)
nv_inference_compute_output_duration_us counter Cumulative inference compute output duration in microseconds (does not include cached requests)
nv_cache_num_hits_per_model counter Number of cache hits per model
nv_cache_hit_duration_per_model counter Total cache hit duration per model, in microseconds
nv_cache_num_misses_per_model counter Number of cache misses per model
nv_cache_miss_duration_per_model counter Total cache miss (insert+lookup) duration per model, in microseconds
nv_inference_pending_request_count gauge Instantaneous number of pending requests awaiting execution per-model.
nv_pinned_memory_pool_total_bytes gauge Pinned memory pool total memory size, in bytes
nv_pinned_memory_pool_used_bytes gauge Pinned memory pool used memory size, in bytes
nv_cpu_utilization gauge CPU utilization rate [0.0 - 1.0]
nv_cpu_memory_total_bytes gauge CPU total memory (RAM), in bytes
nv_cpu_memory_used_bytes gauge CPU used memory (RAM), in bytes
nv_cache_util gauge Cache utilization [0.0 - 1.0]
nv_cache_num_entries gauge Number of responses stored in response cache
nv_cache_num_hits gauge Number of cache hits in response cache
nv_cache_num_misses gauge Number of cache misses in response cache
nv_cache_num_lookups gauge Number of cache lookups in response cache
nv_cache_num_evictions gauge Number of cache evictions in response cache
nv_cache_lookup_duration gauge Total cache lookup duration (hit and miss), in microseconds
nv_cache_insertion_duration gauge Total cache insertion duration, in microseconds
"""  # noqa: E501


def test_the_families_of_triton_have_its_names_types_and_help(tmp_path: Path) -> None:
    made = page(tmp_path / "proc")
    lines = [line for line in made.text().splitlines() if line.startswith("#")]
    for row in TRITON.strip().splitlines():
        name, kind, text = row.split(" ", 2)
        at = lines.index(f"# HELP {name} {text}")
        assert lines[at + 1] == f"# TYPE {name} {kind}"
    order = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    known = [row.split()[0] for row in TRITON.strip().splitlines()]
    assert [name for name in order if name in known] == known


def test_a_model_in_the_text(tmp_path: Path) -> None:
    made, entries = full_page(tmp_path / "proc")
    text = made.text()
    net = 'gpu_uuid="npu:0",model="net"'
    for line in (
        f'nv_inference_request_success{{{net},version="1"}} 2',
        f'nv_inference_request_failure{{{net},reason="REJECTED",version="1"}} 1',
        f'nv_inference_request_failure{{{net},reason="CANCELED",version="1"}} 0',
        f'nv_inference_request_failure{{{net},reason="BACKEND",version="1"}} 0',
        f'nv_inference_request_failure{{{net},reason="OTHER",version="1"}} 0',
        f'nv_inference_count{{{net},version="1"}} 5',
        f'nv_inference_exec_count{{{net},version="1"}} 1',
        f'nv_inference_request_duration_us{{{net},version="1"}} 154000',
        f'nv_inference_queue_duration_us{{{net},version="1"}} 4000',
        f'nv_inference_compute_input_duration_us{{{net},version="1"}} 20',
        f'nv_inference_compute_infer_duration_us{{{net},version="1"}} 4000',
        f'nv_inference_compute_output_duration_us{{{net},version="1"}} 60',
        'nv_inference_pending_request_count{model="net",version="1"} 0',
        'nv_model_load_duration_secs{model="net",version="1"} 1.5',
        f'nv_inference_first_response_histogram_ms_bucket{{{net},version="1",le="100"}} 1',
        f'nv_inference_first_response_histogram_ms_bucket{{{net},version="1",le="500"}} 2',
        f'nv_inference_first_response_histogram_ms_bucket{{{net},version="1",le="+Inf"}} 2',
        f'nv_inference_first_response_histogram_ms_sum{{{net},version="1"}} 154',
        f'nv_inference_queue_summary_us_sum{{{net},version="1"}} 4000',
        f'nv_inference_queue_summary_us_count{{{net},version="1"}} 2',
        "nv_pinned_memory_pool_total_bytes 128",
        "nv_pinned_memory_pool_used_bytes 64",
        'nv_gpu_utilization{gpu_uuid="npu:0"} 0.25',
        'nv_gpu_memory_total_bytes{gpu_uuid="npu:0"} 8589934592',
        'nv_gpu_memory_used_bytes{gpu_uuid="npu:0"} 3221225472',
        'nv_gpu_power_usage{gpu_uuid="npu:0"} 71.5',
        'nv_gpu_power_limit{gpu_uuid="npu:0"} 300',
        'nv_energy_consumption{gpu_uuid="npu:0"} 1234.5',
        "nv_cpu_utilization 0.3",
        "nv_cpu_memory_total_bytes 1024000",
        "nv_cpu_memory_used_bytes 614400",
        f'ascend_batches_total{{{net},rows="5",version="1"}} 1',
        f'ascend_rows_total{{{net},version="1"}} 5',
        f'ascend_padding_rows_total{{{net},version="1"}} 3',
        f'ascend_instances{{{net},state="ready",version="1"}} 2',
        f'ascend_instances{{{net},state="unavailable",version="1"}} 1',
        f'ascend_slots{{{net},version="1"}} 4',
        f'ascend_slots_busy{{{net},version="1"}} 3',
        f'ascend_abandoned_threads{{{net},version="1"}} 1',
        f'ascend_request_duration_seconds_sum{{{net},version="1"}} 0.154',
        f'ascend_request_duration_seconds_count{{{net},version="1"}} 2',
        'ascend_memory_pool_active_bytes{device="npu:0",pool="device"} 162',
        'ascend_memory_pool_held_bytes{device="npu:0",pool="device"} 38',
        'ascend_memory_pool_reserved_bytes{device="npu:0",pool="pinned"} 128',
        'ascend_memory_pool_owner_bytes{device="npu:0",owner="weights",pool="device"} 107',
        'ascend_memory_pool_owner_bytes{device="npu:0",owner="workspace",pool="device"} 50',
        'ascend_memory_pool_owner_bytes{device="npu:0",owner="other",pool="device"} 5',
        'ascend_memory_pool_failures_total{device="npu:0",pool="device"} 2',
    ):
        assert f"\n{line}\n" in f"\n{text}", line
    assert 'model="a \\"b\\"\\\\c\\nd"' in text
    for entry in entries:
        entry.close()


def test_prometheus_parser_reads_every_line(tmp_path: Path) -> None:
    made, entries = full_page(tmp_path / "proc")
    text = made.text()
    found = parsed(text)
    assert len(found) == sum(not line.startswith("#") for line in text.splitlines())
    typed = {
        family.name.removesuffix("_total"): family.type for family in text_string_to_metric_families(text)
    }
    assert typed == {family.name.removesuffix("_total"): family.kind for family in made.families()}
    weird = (("gpu_uuid", "npu:0"), ("model", 'a "b"\\c\nd'), ("version", "1"))
    assert found["nv_inference_count", weird] == 5
    assert found["nv_inference_pending_request_count", weird[1:]] == 1
    for family in made.families():
        assert bool(family.samples) is not family.name.startswith("nv_cache_"), family.name
        for sample in family.samples:
            key = (family.name + sample.suffix, tuple(sorted(sample.labels)))
            assert found[key] == pytest.approx(sample.value, nan_ok=True)
    for entry in entries:
        entry.close()


def test_summaries_and_histograms_are_shown_when_asked_for(tmp_path: Path) -> None:
    made = page(tmp_path / "proc")
    entry = made.registry.register("net", 1)
    assert "_summary_us" not in made.text()
    assert "_histogram_ms" not in made.text()
    made.registry.configure(summary_latencies=True, summary_quantiles="0.5:0.05,1:0")
    empty = parsed(made.text())
    assert math.isnan(
        empty["nv_inference_request_summary_us", (("model", "net"), ("quantile", "0.5"), ("version", "1"))]
    )
    for ms in (10, 10, 1000):
        entry.counters.record_request(1, ms * 1_000_000, 0, 0, 0, 0)
    filled = parsed(made.text())
    for quantile, us in (("0.5", 10_000), ("1", 1_000_000)):
        key = (("model", "net"), ("quantile", quantile), ("version", "1"))
        assert filled["nv_inference_request_summary_us", key] == pytest.approx(us, rel=1 / 64)
    made.registry.configure(counter_latencies=False)
    text = made.text()
    assert "_duration_us" not in text
    assert 'nv_inference_request_success{model="net",version="1"} 3' in text
    entry.close()


def test_buckets_rise_to_the_count(tmp_path: Path) -> None:
    made, entries = full_page(tmp_path / "proc")
    for family in made.families():
        if family.kind != "histogram":
            continue
        by_model: dict[object, list[float]] = {}
        for sample in family.samples:
            if sample.suffix == "_bucket":
                by_model.setdefault(sample.labels[:-1], []).append(sample.value)
        for labels, values in by_model.items():
            assert values == sorted(values)
            [count] = [s.value for s in family.samples if s.suffix == "_count" and s.labels == labels]
            assert values[-1] == count
    for entry in entries:
        entry.close()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (2**60, str(2**60)),
        (0.25, "0.25"),
        (-1.5, "-1.5"),
        (1e300, "1e+300"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_numbers_are_whole_where_they_can_be(value: float, text: str) -> None:
    assert number(value) == text


def test_a_family_without_samples_has_its_head_and_text_is_escaped() -> None:
    assert render([Family("a", "gauge", "b\\\nc")]) == "# HELP a b\\\\\\nc\n# TYPE a gauge\n"
