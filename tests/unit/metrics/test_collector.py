"""The collector beside the text: the same names, labels and values, in both formats of prometheus_client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from child import run_child
from metric_pages import full_page, parsed
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families

from ascend_infer import metrics
from ascend_infer.metrics.collector import Collector
from ascend_infer.metrics.page import MetricsPage

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], str]


def in_text(made: MetricsPage) -> Samples:
    # As text: a NaN is unequal to itself.
    return {key: repr(float(value)) for key, value in parsed(made.text()).items()}


def heads(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("# HELP")]


def samples(families: Any) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): repr(float(sample.value))
        for family in families
        for sample in family.samples
    }


def test_the_collectors_samples_are_those_of_the_text(tmp_path: Path) -> None:
    made, entries = full_page(tmp_path / "proc")
    registry = CollectorRegistry()
    registry.register(Collector(made))
    text = in_text(made)
    assert len(text) > 100
    assert samples(registry.collect()) == text
    page = generate_latest(registry).decode()
    assert samples(text_string_to_metric_families(page)) == text
    # Families without a sample too.
    assert heads(page) == heads(made.text())
    for entry in entries:
        entry.close()


def test_it_is_valid_openmetrics_too(tmp_path: Path) -> None:
    made, entries = full_page(tmp_path / "proc")
    # Triton writes a bound as le="100", and OpenMetrics wants "100.0": the text's labels are kept.
    made.registry.configure(histogram_latencies=False)
    registry = CollectorRegistry()
    registry.register(Collector(made))
    shown = samples(openmetrics_families(openmetrics.generate_latest(registry).decode()))
    assert shown == in_text(made)
    for entry in entries:
        entry.close()


def test_it_stands_beside_an_applications_own_metrics(tmp_path: Path) -> None:
    made, entries = full_page(tmp_path / "proc")
    registry = CollectorRegistry()
    Counter("orders", "Orders", registry=registry).inc()
    registry.register(Collector(made))
    page = generate_latest(registry).decode()
    assert "orders_total 1.0" in page
    assert "nv_inference_count{" in page
    for entry in entries:
        entry.close()


def test_the_default_collector_shows_the_processs_models() -> None:
    with metrics.register("net_of_test_collector", 1):
        names = {
            sample.labels.get("model")
            for family in metrics.Collector().collect()
            for sample in family.samples
        }
        assert "net_of_test_collector" in names
        assert 'model="net_of_test_collector"' in metrics.text()
    assert "net_of_test_collector" not in metrics.text()


def test_without_prometheus_client_the_text_works_and_the_collector_says_what_to_install() -> None:
    out = run_child("""
        import sys
        sys.modules["prometheus_client"] = sys.modules["prometheus_client.core"] = None
        from ascend_infer import errors, metrics
        print("nv_inference_count" in metrics.text())
        try:
            metrics.Collector
        except errors.MissingDependencyError as error:
            print(error.package, "pip install 'ascend-infer[metrics]'" in str(error))
    """)
    assert out.split() == ["True", "prometheus_client", "True"]


def test_the_package_is_light_until_it_is_asked() -> None:
    out = run_child("""
        import sys
        import ascend_infer.metrics
        print([n for n in sys.modules if n.startswith(("prometheus", "numpy", "ascend_infer._native", "google"))])
    """)
    assert out.strip() == "[]"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Colector'"):
        _ = metrics.Colector
