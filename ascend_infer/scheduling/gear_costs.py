"""What batches cost in the model's compiled sizes, told to the micro-batcher as it is learnt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ascend_infer._native import RequestQueue
from ascend_infer.gears import Costs, ModelSizes, batch_costs
from ascend_infer.scheduling.batching import gear_costs
from ascend_infer.scheduling.policy import BatchRules

__all__ = ["CostSource", "GearCosts"]

#: A cost that has moved by less than this share changes no cut worth the change.
_STEP = 0.2


class CostSource(Protocol):
    """Who measures: ``gears.GearChooser``."""

    @property
    def sizes(self) -> ModelSizes:
        """What the model was compiled for."""
        ...

    @property
    def costs(self) -> Costs:
        """What is known by now; another object when it has changed."""
        ...


class GearCosts:
    """Keeps a queue's rules at what the model's sizes cost now.

    Parameters
    ----------
    source : CostSource
    queue : RequestQueue
    rules : BatchRules
        Without costs.

    Notes
    -----
    :meth:`look` may be called from any thread, after every batch: mostly it compares two references.
    """

    def __init__(self, source: CostSource, queue: RequestQueue, rules: BatchRules) -> None:
        self._source = source
        self._queue = queue
        self._rules = rules
        self._seen: Costs | None = None
        self._told: list[tuple[int, float | None]] = []
        self.look()

    def look(self) -> None:
        """Pass on what has changed since the last look, if it has changed by much."""
        costs = self._source.costs
        if costs is self._seen:
            return
        self._seen = costs
        found = batch_costs(self._source.sizes, costs)
        if found and _moved(self._told, found):
            self._told = found
            self._queue.set_rules(self._rules.with_gears(gear_costs(found)))


def _moved(before: Sequence[tuple[int, float | None]], after: Sequence[tuple[int, float | None]]) -> bool:
    if len(before) != len(after):
        return True
    for (_, old), (_, new) in zip(before, after, strict=True):
        if (old is None) != (new is None):
            return True
        if old is not None and new is not None and abs(new - old) > _STEP * old:
            return True
    return False
