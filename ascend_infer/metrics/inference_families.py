"""Triton's families of requests: names, types, help texts, units and order are Triton's."""

from __future__ import annotations

from collections.abc import Callable

from ascend_infer.metrics.buckets import RESPONSE_FAMILY
from ascend_infer.metrics.cache_families import model_cache_families
from ascend_infer.metrics.exposition import number
from ascend_infer.metrics.family import Family, Labels
from ascend_infer.metrics.labels import without_device
from ascend_infer.metrics.registry import ModelReading, Reading
from ascend_infer.metrics.snapshot import FAILURE_REASONS, CountersSnapshot

__all__ = ["inference_families"]

_Value = Callable[[CountersSnapshot], int]

#: Name and help of the duration counters, in the order of a snapshot's sums.
_DURATIONS = (
    (
        "nv_inference_request_duration_us",
        "Cumulative inference request duration in microseconds (includes cached requests)",
    ),
    (
        "nv_inference_queue_duration_us",
        "Cumulative inference queuing duration in microseconds (includes cached requests)",
    ),
    (
        "nv_inference_compute_input_duration_us",
        "Cumulative compute input duration in microseconds (does not include cached requests)",
    ),
    (
        "nv_inference_compute_infer_duration_us",
        "Cumulative compute inference duration in microseconds (does not include cached requests)",
    ),
    (
        "nv_inference_compute_output_duration_us",
        "Cumulative inference compute output duration in microseconds (does not include cached requests)",
    ),
)

#: Triton gives its last three summaries the help texts of the counters.
_SUMMARIES = (
    (
        "nv_inference_request_summary_us",
        "Summary of inference request duration in microseconds (includes cached requests)",
    ),
    (
        "nv_inference_queue_summary_us",
        "Summary of inference queuing duration in microseconds (includes cached requests)",
    ),
    ("nv_inference_compute_input_summary_us", _DURATIONS[2][1]),
    ("nv_inference_compute_infer_summary_us", _DURATIONS[3][1]),
    ("nv_inference_compute_output_summary_us", _DURATIONS[4][1]),
)


def inference_families(reading: Reading) -> list[Family]:
    """Build them from what was read; the latency families as the settings say."""
    families = [
        _counter(
            reading,
            "nv_inference_request_success",
            "Number of successful inference requests, all batch sizes",
            lambda counted: counted.successes,
        ),
        _failures(reading),
        _counter(
            reading,
            "nv_inference_count",
            "Number of inferences performed (does not include cached requests)",
            lambda counted: counted.inferences,
        ),
        _counter(
            reading,
            "nv_inference_exec_count",
            "Number of model executions performed (does not include cached requests)",
            lambda counted: counted.executions,
        ),
    ]
    if reading.settings.counter_latencies:
        families += [_duration(reading, phase) for phase in range(5)]
    families += model_cache_families()
    if reading.settings.summary_latencies:
        families += [_summary(reading, phase) for phase in range(5)]
    families.append(_pending(reading))
    families.append(_load_seconds(reading))
    if reading.settings.histogram_latencies:
        families.append(_response_histogram(reading))
    return families


def _counter(reading: Reading, name: str, text: str, value: _Value) -> Family:
    family = Family(name, "counter", text)
    for model in reading.models:
        family.add(model.labels, value(model.counters))
    return family


def _failures(reading: Reading) -> Family:
    text = "Number of failed inference requests, all batch sizes"
    family = Family("nv_inference_request_failure", "counter", text)
    for model in reading.models:
        for reason, count in zip(FAILURE_REASONS, model.counters.failures, strict=True):
            family.add(tuple(sorted((*model.labels, ("reason", reason)))), count)
    return family


def _duration(reading: Reading, phase: int) -> Family:
    name, text = _DURATIONS[phase]
    return _counter(reading, name, text, lambda counted: counted.sums_ns[phase] // 1000)


def _summary(reading: Reading, phase: int) -> Family:
    name, text = _SUMMARIES[phase]
    family = Family(name, "summary", text)
    quantiles = reading.settings.summary_quantiles
    for model in reading.models:
        counted = model.counters
        # Without a window (summaries were asked for an instant ago) nothing was lately.
        values = counted.window[phase].quantiles(quantiles) if counted.window else [None for _ in quantiles]
        for quantile, value in zip(quantiles, values, strict=True):
            shown = float("nan") if value is None else value / 1000
            family.add((*model.labels, ("quantile", number(quantile))), shown)
        family.add(model.labels, counted.sums_ns[phase] // 1000, "_sum")
        family.add(model.labels, counted.successes, "_count")
    return family


def _pending(reading: Reading) -> Family:
    text = "Instantaneous number of pending requests awaiting execution per-model."
    family = Family("nv_inference_pending_request_count", "gauge", text)
    waiting: dict[Labels, int] = {}
    for model in reading.models:
        labels = without_device(model.labels)
        waiting[labels] = waiting.get(labels, 0) + model.counters.pending
    for labels, count in waiting.items():
        family.add(labels, count)
    return family


def _load_seconds(reading: Reading) -> Family:
    family = Family("nv_model_load_duration_secs", "gauge", "Model load time in seconds")
    seconds: dict[Labels, float] = {}
    for model in reading.models:
        if model.load_seconds is not None:
            seconds[without_device(model.labels)] = model.load_seconds
    for labels, value in seconds.items():
        family.add(labels, value)
    return family


def _response_histogram(reading: Reading) -> Family:
    text = "Duration from request to first response in milliseconds"
    family = Family(RESPONSE_FAMILY, "histogram", text)
    for model in reading.models:
        _add_buckets(family, model)
    return family


def _add_buckets(family: Family, model: ModelReading) -> None:
    counted = model.counters
    within = 0
    for bound, count in zip(
        (*counted.response_bounds_ms, float("inf")), counted.response_counts, strict=True
    ):
        within += count
        family.add((*model.labels, ("le", number(bound))), within, "_bucket")
    family.add(model.labels, counted.sums_ns[0] // 1_000_000, "_sum")
    family.add(model.labels, within, "_count")
