"""Who is in the registry, under which labels, and what is left of whom that leaves."""

from __future__ import annotations

import gc
import logging
import threading
from typing import Any

import pytest
from child import run_child
from metric_pages import MS, card

from ascend_infer.config import parse_config
from ascend_infer.errors import DeviceLostError, InvalidOptionError
from ascend_infer.metrics.readings import InstanceReading
from ascend_infer.metrics.registry import ModelReading, Registry


def only(registry: Registry) -> ModelReading:
    [model] = registry.read().models
    return model


def answer(entry: Any, times: int = 1) -> None:
    for _ in range(times):
        entry.counters.record_batch(2, 0, 1, 1, 1)
        entry.counters.record_request(2, 1 * MS, 10, 1, 1, 1)


def test_a_model_is_there_from_register_to_close() -> None:
    registry = Registry()
    with registry.register("net", 3) as entry:
        assert only(registry).labels == (("model", "net"), ("version", "3"))
        assert not entry.closed
    assert entry.closed
    entry.close()
    assert registry.read().models == ()


def test_a_bare_file_is_version_1_and_a_device_is_a_label() -> None:
    registry = Registry()
    with registry.register("net", device="npu:1"):
        assert only(registry).labels == (("gpu_uuid", "npu:1"), ("model", "net"), ("version", "1"))


def test_a_name_that_is_no_text_is_shown_all_the_same() -> None:
    registry = Registry()
    with registry.register("caf\udce9", 1):
        assert dict(only(registry).labels)["model"] == "caf?"


def test_tags_become_labels_that_prometheus_takes() -> None:
    config = parse_config(
        'backend: "onnxruntime" metric_tags { key: "team" value: "a" } metric_tags { key: "cost centre" value: "b" }'
        ' metric_tags { key: "cost-centre" value: "c" } metric_tags { key: "_own" value: "d" }'
        ' metric_tags { key: "" value: "e" }'
    ).config
    registry = Registry()
    with registry.register("net", 1, config=config):
        labels = dict(only(registry).labels)
    assert labels.pop("model") == "net"
    assert labels.pop("version") == "1"
    assert sorted(labels.values()) == ["a", "b", "c", "d", "e"]
    assert set(labels) == {"_team", "_cost_centre", "_cost_centre_", "_own", "_tag"}


def test_counters_survive_a_reload_of_the_same_labels() -> None:
    registry = Registry()
    old = registry.register("net", 1, load_seconds=1.0)
    answer(old, 3)
    old.counters.pending = 2
    new = registry.register("net", 1, load_seconds=2.0)
    answer(new, 2)
    assert only(registry).counters.successes == 5
    assert only(registry).load_seconds == 2.0
    old.close()
    assert only(registry).counters.successes == 5
    assert only(registry).counters.pending == 0
    assert new.counters.snapshot().successes == 2  # its own load alone
    new.close()
    again = registry.register("net", 1)
    assert only(registry).counters.successes == 0
    again.close()


def test_another_version_or_device_is_counted_apart() -> None:
    registry = Registry()
    entries = [
        registry.register(*args, device=device)
        for args, device in ((("net", 1), "cpu"), (("net", 2), "cpu"), (("net", 1), "npu:0"))
    ]
    for number, entry in enumerate(entries):
        answer(entry, number + 1)
    assert [model.counters.successes for model in registry.read().models] == [1, 2, 3]
    for entry in entries:
        entry.close()


def test_a_dropped_model_counts_as_closed_and_nothing_keeps_it() -> None:
    registry = Registry()

    class Holder:
        def __init__(self) -> None:
            self.entry = registry.register("net", 1, instances=self.instances)

        def instances(self) -> InstanceReading:
            return InstanceReading(1)

    holder = Holder()
    assert only(registry).instances == InstanceReading(1)
    del holder
    gc.collect()
    assert registry.read().models == ()


def test_a_finalizer_that_finds_the_lock_taken_leaves_a_note() -> None:
    registry = Registry()
    entry = registry.register("net", 1)
    with registry._lock:
        entry.close()
    assert registry.read().models == ()


def test_what_cannot_be_asked_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry()

    def lost() -> Any:
        raise DeviceLostError("device 0 is lost", code=507010)

    caplog.set_level(logging.DEBUG, "ascend_infer")
    first = registry.register("a", 1, instances=lost, devices={"npu:0": lost, "npu:1": card})
    second = registry.register("b", 1, instances=lambda: InstanceReading(2), devices={"npu:0": card})
    reading = registry.read()
    assert [model.instances for model in reading.models] == [None, InstanceReading(2)]
    assert set(reading.devices) == {"npu:0", "npu:1"}
    assert "device 0 is lost" in caplog.text
    first.close()
    second.close()


def test_a_device_of_several_models_is_asked_once() -> None:
    registry = Registry()
    asked = []

    def ask() -> Any:
        asked.append(1)
        return card()

    entries = [registry.register(name, 1, devices={"npu:0": ask}) for name in "abc"]
    registry.read()
    assert len(asked) == 1
    for entry in entries:
        entry.close()


def test_instances_of_two_loads_add_up() -> None:
    registry = Registry()
    entries = [registry.register("net", 1, instances=lambda: InstanceReading(1, 1, 2, 1)) for _ in range(2)]
    assert only(registry).instances == InstanceReading(2, 2, 4, 2)
    for entry in entries:
        entry.close()


def test_buckets_come_from_the_configuration(caplog: pytest.LogCaptureFixture) -> None:
    def bounds(text: str) -> tuple[float, ...]:
        registry = Registry()
        with registry.register("net", 1, config=parse_config(f'backend: "onnxruntime" {text}').config):
            return only(registry).counters.response_bounds_ms

    control = "model_metrics {{ metric_control {{ metric_identifier {{ family: '{}' }} {} }} }}"
    histogram = "histogram_options {{ buckets: [ {} ] }}"
    family = "nv_inference_first_response_histogram_ms"
    assert bounds("") == (100, 500, 2000, 5000)
    assert bounds(control.format(family, histogram.format("50, 1, 1, 0.5, -3, 1e300"))) == (0.5, 1, 50)
    assert bounds(control.format(family, histogram.format("-3"))) == (100, 500, 2000, 5000)
    assert not caplog.records
    assert bounds(control.format("nv_other", histogram.format("1"))) == (100, 500, 2000, 5000)
    assert "nv_other" in caplog.text


def test_summaries_are_kept_for_models_loaded_before_and_after_they_are_asked_for() -> None:
    registry = Registry()
    before = registry.register("before", 1)
    assert before.counters.snapshot().window is None
    registry.configure(summary_latencies=True)
    with registry.register("after", 1) as after:
        assert before.counters.snapshot().window is not None
        assert after.counters.snapshot().window is not None
    before.close()


def test_settings_are_checked_and_keep_what_is_not_given() -> None:
    registry = Registry()
    registry.configure(summary_quantiles="0.99:0.001, 0.5:0.05")
    registry.configure(counter_latencies=False)
    assert registry.settings.summary_quantiles == (0.5, 0.99)
    assert not registry.settings.counter_latencies
    registry.configure(summary_quantiles=[0.25], counter_latencies=True)
    assert registry.settings.summary_quantiles == (0.25,)
    for wrong in ("", "x", "0.5:0.1,0.5:0.1", [2], [None], [-0.1], [float("nan")]):
        with pytest.raises(InvalidOptionError, match="summary_quantiles: got"):
            registry.configure(summary_quantiles=wrong)  # type: ignore[arg-type]
    for name in ("counter_latencies", "histogram_latencies", "summary_latencies"):
        with pytest.raises(InvalidOptionError, match=f"{name}: got 'true'"):
            registry.configure(**{name: "true"})  # type: ignore[arg-type]


def test_no_reader_sees_a_counter_fall_while_models_are_reloaded() -> None:
    registry = Registry()
    live = registry.register("net", 1)
    answer(live, 10)
    done = threading.Event()
    fell: list[tuple[int, int]] = []

    def watch() -> None:
        last = 0
        while not done.is_set():
            now = only(registry).counters.successes
            if now < last:
                fell.append((last, now))
            last = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(300):
            fresh = registry.register("net", 1)
            answer(fresh)
            live.close()
            live = fresh
    finally:
        done.set()
        watcher.join()
    assert not fell
    assert only(registry).counters.successes == 310
    live.close()


def test_a_forked_child_has_no_models() -> None:
    out = run_child("""
        import os
        from ascend_infer import metrics
        entry = metrics.register("net", 1)
        child = os.fork()
        if child == 0:
            os._exit(0 if "net" not in metrics.text() else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "net" in metrics.text())
        entry.close()
    """)
    assert out.split() == ["0", "True"]
