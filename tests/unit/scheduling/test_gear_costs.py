"""What the micro-batcher is told of the costs of compiled sizes, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ascend_infer.gears import CompiledSize, Costs, ModelSizes, SizedInput, SizedOutput, batch_costs
from ascend_infer.scheduling.gear_costs import GearCosts
from ascend_infer.scheduling.policy import BatchRules, GearCost
from ascend_infer.types import DataType, Gear


def sizes(*shapes: tuple[int, ...]) -> ModelSizes:
    return ModelSizes(
        "batch",
        (SizedInput("x", DataType.FP32, (-1, *([-1] * (len(shapes[0]) - 1)))),),
        (SizedOutput("y"),),
        tuple(CompiledSize(Gear("batch", shape), (shape,), (shape,)) for shape in shapes),
        batched=True,
    )


@dataclass
class Source:
    """Costs as a test sets them."""

    costs: Costs
    sizes: ModelSizes = field(default_factory=lambda: sizes((1, 4), (4, 4), (8, 4)))


class Queue:
    """Remembers the rules it was given."""

    def __init__(self) -> None:
        self.told: list[BatchRules] = []

    def set_rules(self, rules: BatchRules) -> None:
        self.told.append(rules)


def costs(*seconds: float, measured: tuple[bool, ...] = (True, True, True)) -> Costs:
    return Costs(seconds, measured)


def test_rules_change_when_a_cost_has_moved_by_a_fifth_or_is_new() -> None:
    queue: Any = Queue()
    source = Source(costs(0.001, 0.002, 0.004, measured=(True, False, True)))
    learnt = GearCosts(source, queue, BatchRules(8, (8,)))
    assert [rules.gears for rules in queue.told] == [
        (GearCost(1, 1_000_000), GearCost(4, 0), GearCost(8, 4_000_000))
    ]
    learnt.look()  # nothing new
    source.costs = costs(0.0011, 0.002, 0.0035, measured=(True, False, True))
    learnt.look()  # less than a fifth
    assert len(queue.told) == 1
    source.costs = costs(0.0013, 0.002, 0.0035, measured=(True, False, True))
    learnt.look()
    source.costs = costs(0.0013, 0.0021, 0.0035)
    learnt.look()
    assert [rules.gears[0].cost for rules in queue.told] == [1_000_000, 1_300_000, 1_300_000]
    assert queue.told[-1].gears[1] == GearCost(4, 2_100_000)
    assert queue.told[-1].preferred == (8,)
    assert queue.told[-1].row_gears[5] == 8


def test_small_steps_add_up() -> None:
    queue: Any = Queue()
    source = Source(costs(0.001, 0.002, 0.004))
    learnt = GearCosts(source, queue, BatchRules(8))
    for step in range(1, 11):
        source.costs = costs(0.001 + step * 0.00011, 0.002, 0.004)
        learnt.look()
    # It began at 1.0 ms and was told again beyond a fifth more each time.
    assert [rules.gears[0].cost for rules in queue.told] == [1_000_000, 1_220_000, 1_550_000, 1_880_000]


def test_sizes_that_differ_in_more_than_rows_are_no_matter_of_rows() -> None:
    assert batch_costs(sizes((1, 4), (8, 4)), Costs((1.0, 2.0), (True, False))) == [(1, 1.0), (8, None)]
    assert batch_costs(sizes((1, 4), (8, 5)), Costs((1.0, 2.0), (True, True))) == []
    assert batch_costs(sizes((8, 4)), Costs((1.0,), (True,))) == []
    queue: Any = Queue()
    GearCosts(Source(Costs((1.0, 2.0), (True, True)), sizes((1, 4), (8, 5))), queue, BatchRules(8))
    assert queue.told == []
