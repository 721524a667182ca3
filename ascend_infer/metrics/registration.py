"""One loaded model in the registry, and what its labels have counted in all."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ascend_infer.metrics.family import Labels
from ascend_infer.metrics.readings import DeviceReading, InstanceReading
from ascend_infer.metrics.snapshot import CountersSnapshot

if TYPE_CHECKING:
    from ascend_infer._native import ModelCounters

__all__ = ["LabelledTotals", "Registration"]


class Registration:
    """A loaded model's entry: its counters, and what is asked at each scrape.

    Comes from :func:`ascend_infer.metrics.register`. Needs a ``close()`` when nothing records any more; dropped without
    one, it counts as closed.

    Attributes
    ----------
    counters : ModelCounters
        This load's own.
    labels : tuple of (str, str)
    load_seconds : float or None
    """

    def __init__(
        self,
        counters: ModelCounters,
        labels: Labels,
        load_seconds: float | None,
        instances: Callable[[], InstanceReading] | None,
        devices: Mapping[str, Callable[[], DeviceReading]],
        leave: Callable[[Labels, Any], None],
    ) -> None:
        self.counters = counters
        self.labels = labels
        self.load_seconds = load_seconds
        self.instances = instances
        self.devices = devices
        self._leave = weakref.finalize(self, leave, labels, counters)
        self._leave.atexit = False

    @property
    def closed(self) -> bool:
        """Whether it is out of the registry."""
        return not self._leave.alive

    def close(self) -> None:
        """Leave the registry; idempotent, from any thread.

        What was counted stays in the sums as long as another load has the same labels: a reload loses nothing. What is
        counted afterwards is not shown.
        """
        self._leave()
        self.instances, self.devices = None, {}

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class LabelledTotals:
    """All loads with the same labels: those that are open, and the sum of those that are gone.

    Not synchronised: the registry's lock is held. A load moves from the one to the other in one step, so that no reader
    sees a counter fall.
    """

    def __init__(self) -> None:
        self.open: list[tuple[ModelCounters, weakref.ref[Registration]]] = []
        self.gone = CountersSnapshot()

    def add(self, entry: Registration) -> None:
        """Take in a load."""
        self.open.append((entry.counters, weakref.ref(entry)))

    def retire(self, counters: ModelCounters) -> None:
        """Keep the sums of a load that is gone."""
        self.open = [member for member in self.open if member[0] is not counters]
        # Nobody waits there any more, and what it did of late has no place in a sum.
        self.gone = self.gone + replace(counters.snapshot(), pending=0, window=None)
