"""What one loaded model counts, and where it is shown."""

from __future__ import annotations

import weakref
from typing import Any

from ascend_infer import metrics
from ascend_infer.backends.base import LoadedModel
from ascend_infer.config import ModelConfig
from ascend_infer.metrics.readings import InstanceReading, device_readers
from ascend_infer.metrics.session_stats import SessionStats, StatsTaker
from ascend_infer.metrics.statistics import ModelStatistics, memory_usage, statistics
from ascend_infer.model_source import ModelSource
from ascend_infer.scheduling.scheduler import Scheduler

__all__ = ["Accounts"]


class Accounts:
    """A model's entry among the process's metrics.

    Parameters
    ----------
    source : ModelSource
    config : ModelConfig
        Its metric tags and histogram buckets count.
    model : LoadedModel
    load_seconds : float
    """

    def __init__(
        self, source: ModelSource, config: ModelConfig, model: LoadedModel, load_seconds: float
    ) -> None:
        self._name, self._version = source.name, source.version
        self._scheduler: weakref.ref[Scheduler] | None = None
        self._devices = device_readers(model)
        self._entry = metrics.register(
            source.name,
            source.version,
            config=config,
            device=model.device,
            load_seconds=load_seconds,
            instances=self._instances,
            devices=self._devices,
        )
        self.counters = self._entry.counters
        self._taker = StatsTaker(source.name, source.version, model.device, self.counters.snapshot)

    def watch(self, scheduler: Scheduler) -> None:
        """Tell where the instances are seen."""
        self._scheduler = weakref.ref(scheduler)

    def statistics(self) -> dict[str, Any]:
        """Return Triton's statistics of this model."""
        readings = {device: read() for device, read in self._devices.items()}
        usage = memory_usage(self._name, readings)
        return statistics([ModelStatistics(self._name, self._version, self.counters.snapshot(), usage)])

    def stats(self) -> SessionStats:
        """Return the numbers for people."""
        return self._taker.take()

    def plot(self) -> Any:
        """Return the numbers as a picture."""
        from ascend_infer.metrics.plot import stats_figure

        return stats_figure(self._taker.title, self._taker.history())

    def close(self) -> None:
        """Leave the metrics; idempotent."""
        self._entry.close()

    def _instances(self) -> InstanceReading:
        scheduler = self._scheduler() if self._scheduler is not None else None
        return InstanceReading() if scheduler is None else InstanceReading(*scheduler.occupation())
