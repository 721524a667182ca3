"""Everything that is shown at one scrape."""

from __future__ import annotations

from ascend_infer.metrics.cache_families import cache_families
from ascend_infer.metrics.exposition import render
from ascend_infer.metrics.family import Family
from ascend_infer.metrics.host import HostReader
from ascend_infer.metrics.inference_families import inference_families
from ascend_infer.metrics.machine_families import machine_families
from ascend_infer.metrics.own_families import own_families
from ascend_infer.metrics.pool_families import pool_families
from ascend_infer.metrics.registry import Registry

__all__ = ["DEFAULT", "MetricsPage"]


class MetricsPage:
    """A registry's models, their devices and the host, as families.

    Thread safety: every method may be called from any thread.
    """

    def __init__(self, registry: Registry | None = None, host: HostReader | None = None) -> None:
        self.registry = registry or Registry()
        self._host = host or HostReader()

    def families(self) -> list[Family]:
        """Read everything now; Triton's families first, in Triton's order."""
        reading = self.registry.read()
        return [
            *inference_families(reading),
            *machine_families(reading.devices, self._host.read()),
            *cache_families(),
            *own_families(reading.models),
            *pool_families(reading.devices),
        ]

    def text(self) -> str:
        """Return them in Prometheus' text format."""
        return render(self.families())


#: What ``ascend_infer.metrics.text()`` shows: all sessions of this process.
DEFAULT = MetricsPage()
