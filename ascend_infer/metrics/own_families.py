"""Families that Triton has nothing like: batches by size, padding, instances, durations without configuring them."""

from __future__ import annotations

from collections.abc import Iterable

from ascend_infer.metrics.buckets import DURATION_POWERS
from ascend_infer.metrics.exposition import number
from ascend_infer.metrics.family import Family
from ascend_infer.metrics.registry import ModelReading

__all__ = ["own_families"]


def own_families(models: Iterable[ModelReading]) -> list[Family]:
    """Build them from what was read."""
    batches = Family(
        "ascend_batches_total", "counter", "Executions by their number of rows, padding not counted"
    )
    rows = Family("ascend_rows_total", "counter", "Rows that executions were asked for")
    padding = Family(
        "ascend_padding_rows_total", "counter", "Rows computed on top of them to reach a compiled batch size"
    )
    request = Family(
        "ascend_request_duration_seconds",
        "histogram",
        "From a request's call to its answer, answered requests",
    )
    queue = Family(
        "ascend_queue_duration_seconds", "histogram", "Until an instance took the request, answered requests"
    )
    instances = Family("ascend_instances", "gauge", "Copies of the model, by state")
    slots = Family("ascend_slots", "gauge", "Batches that may be in flight at once")
    busy = Family("ascend_slots_busy", "gauge", "Batches that are in flight now")
    abandoned = Family(
        "ascend_abandoned_threads", "gauge", "Threads that are still in a run that was given up"
    )
    for model in models:
        counted = model.counters
        rows.add(model.labels, counted.executed_rows)
        padding.add(model.labels, counted.padding_rows)
        for batch in counted.batch_sizes:
            labels = tuple(sorted((*model.labels, ("rows", str(batch.rows)))))
            batches.add(labels, batch.executions)
        _add_durations(request, model, 0)
        _add_durations(queue, model, 1)
        if model.instances is not None:
            for state in ("ready", "unavailable"):
                labels = tuple(sorted((*model.labels, ("state", state))))
                instances.add(labels, getattr(model.instances, state))
            slots.add(model.labels, model.instances.slots)
            busy.add(model.labels, model.instances.busy_slots)
            abandoned.add(model.labels, model.instances.abandoned_threads)
    families = (batches, rows, padding, request, queue, instances, slots, busy, abandoned)
    return [family for family in families if family.samples]


def _add_durations(family: Family, model: ModelReading, phase: int) -> None:
    histogram = model.counters.histograms[phase]
    for power in DURATION_POWERS:
        bound = 2**power
        family.add((*model.labels, ("le", number(bound / 1e9))), histogram.below(bound), "_bucket")
    family.add((*model.labels, ("le", "+Inf")), histogram.total, "_bucket")
    family.add(model.labels, model.counters.sums_ns[phase] / 1e9, "_sum")
    family.add(model.labels, histogram.total, "_count")
