"""The models that are loaded in this process, as metrics know them."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from ascend_infer.metrics.buckets import RESPONSE_FAMILY, response_bounds
from ascend_infer.metrics.family import Labels
from ascend_infer.metrics.labels import model_labels
from ascend_infer.metrics.readings import DeviceReading, InstanceReading
from ascend_infer.metrics.registration import LabelledTotals, Registration
from ascend_infer.metrics.settings import MetricsSettings, checked_settings
from ascend_infer.metrics.snapshot import CountersSnapshot

if TYPE_CHECKING:
    from ascend_infer._native import ModelCounters
    from ascend_infer.config import ModelConfig

__all__ = ["RESPONSE_FAMILY", "ModelReading", "Reading", "Registry"]

logger = logging.getLogger("ascend_infer")

#: Seconds that a summary's percentiles look back, as Triton's do.
_SUMMARY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ModelReading:
    """All loads of the same labels at one moment."""

    labels: Labels
    counters: CountersSnapshot
    load_seconds: float | None
    instances: InstanceReading | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything the registry knows at one moment; devices by name."""

    settings: MetricsSettings
    models: tuple[ModelReading, ...]
    devices: Mapping[str, DeviceReading]


class Registry:
    """Loaded models by their labels.

    Thread safety: every method may be called from any thread. What registrations gave to be asked is called without a
    lock held. A forked child starts with none.
    """

    def __init__(self) -> None:
        self.settings = MetricsSettings()
        self._start_empty()
        _registries.add(self)

    def _start_empty(self) -> None:
        self._lock = threading.Lock()
        self._totals: dict[Labels, LabelledTotals] = {}
        # A finalizer may run on a thread that holds the lock: it leaves a note.
        self._leaving: deque[tuple[Labels, ModelCounters]] = deque()

    def register(
        self,
        model: str,
        version: int | str | None = None,
        *,
        config: ModelConfig | None = None,
        device: str = "cpu",
        load_seconds: float | None = None,
        instances: Callable[[], InstanceReading] | None = None,
        devices: Mapping[str, Callable[[], DeviceReading]] | None = None,
    ) -> Registration:
        """See :func:`ascend_infer.metrics.register`."""
        labels = model_labels(model, version, config.metric_tags if config is not None else {}, device)
        counters = _new_counters(response_bounds(config))
        entry = Registration(counters, labels, load_seconds, instances, devices or {}, self._leave)
        with self._lock:
            self._sweep()
            totals = self._totals.setdefault(labels, LabelledTotals())
            totals.add(entry)
        # Only now: whoever switched summaries on before did not find these counters, and who does so later will.
        if self.settings.summary_latencies:
            counters.keep_window(_SUMMARY_SECONDS)
        return entry

    def configure(
        self,
        *,
        counter_latencies: bool | None = None,
        histogram_latencies: bool | None = None,
        summary_latencies: bool | None = None,
        summary_quantiles: str | Iterable[float] | None = None,
    ) -> None:
        """See :func:`ascend_infer.metrics.configure`."""
        self.settings = checked_settings(
            self.settings, counter_latencies, histogram_latencies, summary_latencies, summary_quantiles
        )
        if self.settings.summary_latencies:
            with self._lock:
                known = [counters for totals in self._totals.values() for counters, _ in totals.open]
            for counters in known:
                counters.keep_window(_SUMMARY_SECONDS)

    def read(self) -> Reading:
        """Read all counters and ask for all that is asked for; blocks as long as devices take to answer."""
        with self._lock:
            self._sweep()
            loads = [
                _Loads(labels, totals.gone, tuple(totals.open)) for labels, totals in self._totals.items()
            ]
        models = tuple(map(_read_model, loads))
        devices: dict[str, DeviceReading] = {}
        for entry in (entry for group in loads for entry in group.entries()):
            for name, ask in dict(entry.devices).items():
                if name not in devices and (answer := _asked(ask)) is not None:
                    devices[name] = answer
        return Reading(self.settings, models, devices)

    def _leave(self, labels: Labels, counters: ModelCounters) -> None:
        self._leaving.append((labels, counters))
        if self._lock.acquire(blocking=False):
            try:
                self._sweep()
            finally:
                self._lock.release()

    def _sweep(self) -> None:
        """Take out who left, holding the lock; labels without a load are forgotten."""
        while self._leaving:
            labels, counters = self._leaving.popleft()
            totals = self._totals.get(labels)
            if totals is None:
                continue
            totals.retire(counters)
            if not totals.open:
                del self._totals[labels]


def _new_counters(bounds: tuple[float, ...]) -> ModelCounters:
    from ascend_infer._native import ModelCounters

    return ModelCounters(response_bounds_ms=bounds)


@dataclass(frozen=True, slots=True)
class _Loads:
    """All loads of the same labels, as they were under the lock."""

    labels: Labels
    gone: CountersSnapshot
    open: tuple[tuple[ModelCounters, weakref.ref[Registration]], ...]

    def entries(self) -> list[Registration]:
        """Return those that can still be asked."""
        return [entry for _, reference in self.open if (entry := reference()) is not None]


def _read_model(loads: _Loads) -> ModelReading:
    # Of two loads the newer one's buckets and load time are shown: it comes first.
    snapshots = [counters.snapshot() for counters, _ in reversed(loads.open)]
    entries = loads.entries()
    asked = [entry.instances for entry in entries if entry.instances is not None]
    answers = [answer for ask in asked if (answer := _asked(ask)) is not None]
    return ModelReading(
        loads.labels,
        reduce(CountersSnapshot.__add__, [*snapshots, loads.gone]),
        entries[-1].load_seconds if entries else None,
        reduce(InstanceReading.__add__, answers) if answers else None,
    )


def _asked(ask: Callable[[], Any]) -> Any:
    """Ask; who cannot answer is left out of this scrape, and one scrape is not lost for it."""
    try:
        return ask()
    except Exception as error:
        logger.debug("metrics: a reading failed: %s", error)
        return None


_registries: weakref.WeakSet[Registry] = weakref.WeakSet()


def _after_fork() -> None:
    for registry in list(_registries):
        registry._start_empty()


os.register_at_fork(after_in_child=_after_fork)
