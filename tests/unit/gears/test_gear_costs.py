"""What a model learns of its gears, and the chooser that keeps it."""

from __future__ import annotations

import math
import threading

import pytest
from gear_models import batch_gears, static_batch, width_gears
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.errors import ConfigError, InvalidInputError, NoGearError
from ascend_infer.gears import CostTable, GearChooser, ModelSizes, SizedInput, SizedOutput, explain_gear
from ascend_infer.gears.cost import estimated_costs
from ascend_infer.types import DataType


def test_before_anything_is_measured_the_smaller_gear_is_cheaper() -> None:
    costs = CostTable(batch_gears([1, 2, 4])).costs
    assert costs.seconds[0] < costs.seconds[1] < costs.seconds[2]
    assert costs.measured == (False, False, False)


def test_the_first_measurement_counts_whole_and_later_ones_in_part() -> None:
    table = CostTable(batch_gears([1, 2]))
    table.observe(0, 1.0)
    assert table.costs.seconds[0] == 1.0
    table.observe(0, 2.0)
    assert table.costs.seconds[0] == pytest.approx(1.2)
    for _ in range(40):
        table.observe(0, 5.0)
    assert table.costs.seconds[0] == pytest.approx(5.0, rel=0.06)


def test_what_was_not_measured_is_estimated_from_what_was() -> None:
    table = CostTable(batch_gears([1, 2, 4]))
    table.observe(1, 0.2)
    assert table.costs.seconds == pytest.approx((0.12, 0.2, 0.36))  # a launch has a cost of its own
    assert table.costs.measured == (False, True, False)


def test_jitter_leaves_decisions_alone() -> None:
    table = CostTable(batch_gears([1, 2]))
    table.observe(0, 1.0)
    before = table.costs
    table.observe(0, 1.05)
    assert table.costs is before
    table.observe(0, 9.0)
    assert table.costs is not before


@given(st.lists(st.tuples(st.integers(0, 2), st.floats()), max_size=30))
def test_no_measurement_spoils_the_table(observations: list[tuple[int, float]]) -> None:
    table = CostTable(batch_gears([1, 2, 4]))
    for index, seconds in observations:
        table.observe(index, seconds)
    assert all(cost > 0 for cost in table.costs.seconds)
    good = {index for index, seconds in observations if math.isfinite(seconds) and seconds > 0}
    assert {i for i, measured in enumerate(table.costs.measured) if measured} == good


def test_the_chooser_learns() -> None:
    chooser = GearChooser(batch_gears([4, 8]))
    first = chooser.choose([(3, 3)])
    assert first is chooser.choose([(3, 3)])
    assert first.launches[0].input_shapes == ((4, 3),)
    chooser.observe(first.launches[0], 0.010)
    chooser.observe(chooser.choose([(8, 3)]).launches[0], 0.002)
    learnt = chooser.choose([(3, 3)])
    assert learnt.launches[0].input_shapes == ((8, 3),)
    assert learnt.is_measured
    assert learnt.cost == 0.002


def test_the_chooser_refuses_a_configuration_that_does_not_fit() -> None:
    with pytest.raises(ConfigError, match="no such input"):
        GearChooser(batch_gears([1]), {"gear_pad.typo": "0"})


def test_the_chooser_forgets_before_it_grows() -> None:
    chooser = GearChooser(batch_gears([1, 4096]))
    for rows in range(1, 1500):
        assert chooser.choose([(rows, 3)]).launches[0].rows == rows
    assert len(chooser._known) <= 1024


def test_the_chooser_serves_many_threads() -> None:
    chooser = GearChooser(batch_gears([1, 2, 4, 8]))
    barrier = threading.Barrier(4)
    wrong: list[object] = []

    def work(seed: int) -> None:
        barrier.wait()
        for i in range(300):
            rows = (i * seed) % 20 + 1
            choice = chooser.choose([(rows, 3)])
            if sum(launch.rows for launch in choice.launches) != rows:
                wrong.append(choice)
            chooser.observe(choice.launches[0], 1e-3 * (1 + (i + seed) % 5))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert all(chooser.costs.measured)


def test_explanations_say_what_would_happen() -> None:
    sizes = batch_gears([1, 4, 8])
    costs = estimated_costs(sizes, [0.001, 0.0011, 0.0012])
    assert str(explain_gear(sizes, {"x": (5, 3)}, costs=costs)).startswith(
        "would pad 5 -> 8, 37 % waste, 1.2 ms measured"
    )
    assert str(explain_gear(sizes, {"x": (4, 3)}, costs=costs)).startswith(
        "would run as it is: 4, 1.1 ms measured"
    )
    assert "2 x 8 + 1" in str(explain_gear(sizes, {"x": (17, 3)}, costs=costs))
    assert "estimated" in str(explain_gear(sizes, {"x": (5, 3)}))
    assert str(explain_gear(static_batch(8), {"x": (5, 3)})).startswith("would pad 5 -> 8, 37 % waste")
    assert "1x200 -> 1x320" in str(
        GearChooser(width_gears([(1, 320)]), {"gear_pad.x": "0", "gear_crop.p": "1"}).explain(
            {"x": (1, 3, 4, 200)}
        )
    )


def test_explanations_of_what_is_refused() -> None:
    told = explain_gear(width_gears([(1, 160)]), {"x": (1, 3, 4, 100)})
    assert isinstance(told.error, NoGearError)
    assert told.choice is None
    assert str(told).startswith("would be refused: no gear takes input 'x'")
    with pytest.raises(InvalidInputError, match="the model's inputs are"):
        explain_gear(batch_gears([1]), {"z": (1, 3)})


def test_explanations_show_in_a_notebook() -> None:
    assert "<th>launch 2</th>" in explain_gear(batch_gears([2]), {"x": (3, 3)})._repr_html_()
    assert "and 5 more" in explain_gear(batch_gears([1]), {"x": (25, 3)})._repr_html_()
    name = "<script>"
    sizes = ModelSizes("shape", (SizedInput(name, DataType.FP32, (-1,)),), (SizedOutput("y"),))
    assert name not in explain_gear(sizes, {name: (3,)})._repr_html_()
    assert "refused" in explain_gear(sizes, {name: (3, 3)})._repr_html_()
