"""What one loaded model counts, and where it is shown."""

from __future__ import annotations

import weakref
from functools import partial, reduce
from operator import add
from typing import Any

from ascend_infer import metrics
from ascend_infer.backends.base import LoadedModel
from ascend_infer.config import ModelConfig
from ascend_infer.metrics.readings import InstanceReading, device_readers
from ascend_infer.metrics.session_stats import SessionStats, StatsTaker
from ascend_infer.metrics.snapshot import CountersSnapshot
from ascend_infer.metrics.statistics import ModelStatistics, memory_usage, statistics
from ascend_infer.model_source import ModelSource
from ascend_infer.scheduling.scheduler import Scheduler

__all__ = ["Accounts"]


class Accounts:
    """A model's entries among the process's metrics, one for each device that it is on.

    Parameters
    ----------
    source : ModelSource
    config : ModelConfig
        Its metric tags and histogram buckets count.
    model : LoadedModel
    load_seconds : float

    Attributes
    ----------
    counters : dict of str to ModelCounters
        By device, in the order of the executables.
    """

    def __init__(
        self, source: ModelSource, config: ModelConfig, model: LoadedModel, load_seconds: float
    ) -> None:
        self._name, self._version = source.name, source.version
        self._scheduler: weakref.ref[Scheduler] | None = None
        self._devices = device_readers(model)
        self._entries = {
            device: metrics.register(
                source.name,
                source.version,
                config=config,
                device=device,
                load_seconds=load_seconds,
                instances=partial(self._instances, device),
                devices={name: read for name, read in self._devices.items() if name == device},
            )
            for device in dict.fromkeys(executable.device for executable in model.executables())
        }
        self.counters = {device: entry.counters for device, entry in self._entries.items()}
        self._taker = StatsTaker(
            source.name, source.version, model.device, self.snapshot, unavailable=self._unavailable
        )

    def watch(self, scheduler: Scheduler) -> None:
        """Tell where the instances are seen."""
        self._scheduler = weakref.ref(scheduler)

    def snapshot(self) -> CountersSnapshot:
        """Return what was counted on all devices together."""
        return reduce(add, [counters.snapshot() for counters in self.counters.values()])

    def statistics(self) -> dict[str, Any]:
        """Return Triton's statistics of this model."""
        readings = {device: read() for device, read in self._devices.items()}
        usage = memory_usage(self._name, readings)
        return statistics([ModelStatistics(self._name, self._version, self.snapshot(), usage)])

    def stats(self) -> SessionStats:
        """Return the numbers for people."""
        return self._taker.take()

    def plot(self) -> Any:
        """Return the numbers as a picture."""
        from ascend_infer.metrics.plot import stats_figure

        return stats_figure(self._taker.title, self._taker.history())

    def close(self) -> None:
        """Leave the metrics; idempotent."""
        for entry in self._entries.values():
            entry.close()

    def _instances(self, device: str) -> InstanceReading:
        scheduler = self._seen()
        return InstanceReading() if scheduler is None else InstanceReading(*scheduler.occupation(device))

    def _unavailable(self) -> dict[str, str]:
        scheduler = self._seen()
        instances = () if scheduler is None else [item.seen() for item in scheduler.instances]
        return {item.name: item.reason for item in instances if item.state != "READY"}

    def _seen(self) -> Scheduler | None:
        return self._scheduler() if self._scheduler is not None else None
