"""Our families for prometheus_client: an application that exposes its own metrics exposes these with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ascend_infer.errors import MissingDependencyError
from ascend_infer.metrics.family import Family

try:
    from prometheus_client.core import Metric
    from prometheus_client.registry import Collector as _Base
except ImportError as error:
    raise MissingDependencyError(
        "ascend_infer.metrics.Collector needs prometheus_client: pip install 'ascend-infer[metrics]' "
        "(ascend_infer.metrics.text() does without)",
        package="prometheus_client",
    ) from error

if TYPE_CHECKING:
    from ascend_infer.metrics.page import MetricsPage

__all__ = ["Collector"]


class Collector(_Base):
    """What ``ascend_infer.metrics.text()`` shows, as a collector: ``REGISTRY.register(Collector())``.

    Every sample has the name, labels and value that it has in the text. Counters of Triton's names, which do not end in
    ``_total``, are of the type ``unknown``: prometheus_client would write the suffix into a counter's TYPE line, and
    OpenMetrics forbids a counter without it. To Prometheus the type is a comment.

    Thread safety: may be collected from any thread; blocks as long as devices take to answer.
    """

    def __init__(self, page: MetricsPage | None = None) -> None:
        if page is None:
            from ascend_infer.metrics import page as default_page

            page = default_page.DEFAULT
        self._page = page

    def describe(self) -> list[Metric]:
        """Return nothing: what there is depends on the models, and is not asked at registration."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Read everything now."""
        for family in self._page.families():
            metric = _metric(family)
            for sample in family.samples:
                metric.add_sample(family.name + sample.suffix, dict(sample.labels), sample.value)
            yield metric


def _metric(family: Family) -> Metric:
    if family.kind != "counter":
        return Metric(family.name, family.help, family.kind)
    if family.name.endswith("_total"):
        return Metric(family.name.removesuffix("_total"), family.help, "counter")
    return Metric(family.name, family.help, "unknown")
