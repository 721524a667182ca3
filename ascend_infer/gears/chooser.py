"""One model's gear choice over its life: sizes, rules, what it has learnt, and what it decided before."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from ascend_infer.gears.choice import GearChoice, GearLaunch
from ascend_infer.gears.cost import Costs, CostTable
from ascend_infer.gears.explanation import GearExplanation, explain_gear
from ascend_infer.gears.pad_rules import PadRules
from ascend_infer.gears.policy import choose_gear
from ascend_infer.gears.sizes import Dims, ModelSizes

__all__ = ["GearChooser"]

#: Decisions that are kept; a model that sees more different shapes decides anew.
_REMEMBERED = 1024


class GearChooser:
    """Chooses gears for one loaded model and learns their costs.

    Parameters
    ----------
    sizes : ModelSizes
    parameters : mapping of str to str
        The configuration's parameters, of which ``gear_pad.*`` and ``gear_crop.*`` are read.

    Raises
    ------
    ConfigError
        When those do not fit the model.

    Notes
    -----
    Thread-safe; holds no device. A decision made before is looked up until a cost has moved noticeably.
    """

    def __init__(self, sizes: ModelSizes, parameters: Mapping[str, str] | None = None) -> None:
        self.sizes = sizes
        self.rules = PadRules.from_parameters(parameters or {}, sizes)
        self._table = CostTable(sizes)
        self._lock = threading.Lock()
        self._known: dict[tuple[Dims, ...], GearChoice] = {}
        self._known_for: Costs = self._table.costs

    @property
    def costs(self) -> Costs:
        """What decisions are made by now."""
        return self._table.costs

    def choose(self, shapes: Sequence[Dims]) -> GearChoice:
        """Decide how a request of these shapes runs; see :func:`choose_gear` for what it raises."""
        key = tuple(shapes)
        with self._lock:
            costs = self._table.costs
            if costs is not self._known_for:
                self._known.clear()
                self._known_for = costs
            found = self._known.get(key)
        if found is None:
            found = choose_gear(self.sizes, key, rules=self.rules, costs=costs)
            with self._lock:
                if costs is self._known_for:
                    if len(self._known) >= _REMEMBERED:
                        self._known.clear()
                    self._known[key] = found
        return found

    def observe(self, launch: GearLaunch, seconds: float) -> None:
        """Take in how long the device took for a launch."""
        if launch.index is not None:
            with self._lock:
                self._table.observe(launch.index, seconds)

    def explain(self, shapes: Mapping[str, Sequence[int]]) -> GearExplanation:
        """Tell how a request of these shapes would run; see :func:`explain_gear`."""
        return explain_gear(self.sizes, shapes, rules=self.rules, costs=self.costs)
