"""Which gear a request runs in."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from gear_models import batch_gears, static_batch, text_gears, width_gears
from hypothesis import given
from hypothesis import strategies as st

import ascend_infer.gears.policy
from ascend_infer.errors import InvalidInputError, NoGearError
from ascend_infer.gears import GearChoice, ModelSizes, PadRules, SizedInput, SizedOutput, choose_gear
from ascend_infer.gears.cost import Costs, estimated_costs
from ascend_infer.types import DataType

Dims = tuple[int, ...]


def choose(
    sizes: ModelSizes,
    *shapes: Dims,
    parameters: dict[str, str] | None = None,
    seconds: list[float] | None = None,
) -> GearChoice:
    rules = PadRules.from_parameters(parameters or {}, sizes)
    return choose_gear(sizes, shapes, rules=rules, costs=estimated_costs(sizes, seconds))


def gears(choice: GearChoice) -> list[Dims]:
    return [launch.gear.values for launch in choice.launches if launch.gear]


@pytest.mark.parametrize(("rows", "gear"), [(1, 1), (2, 2), (3, 4), (5, 8), (8, 8)])
def test_rows_are_padded_to_the_next_gear(rows: int, gear: int) -> None:
    choice = choose(batch_gears([1, 2, 4, 8]), (rows, 3))
    assert gears(choice) == [(gear,)]
    assert choice.launches[0].pads == ((gear - rows, 0),)
    assert choice.is_exact == (rows == gear)
    assert choice.waste == pytest.approx(1 - rows / gear)
    assert [cut.keep(gear) for cut in choice.launches[0].crops[0]] == ([] if rows == gear else [rows])


def test_the_cheapest_measured_gear_wins_though_it_is_larger() -> None:
    sizes = batch_gears([1, 2, 4, 8])
    assert gears(choose(sizes, (3, 3), seconds=[5.0, 4.0, 9.0, 2.0])) == [(8,)]
    assert gears(choose(sizes, (3, 3), seconds=[1.0, 1.0, 1.0, 1.0])) == [(4,)]  # flat: the smaller one


def test_above_the_largest_gear_the_rows_are_split_at_least_cost() -> None:
    sizes = batch_gears([1, 4, 8])
    choice = choose(sizes, (21, 3), seconds=[1.0, 2.0, 3.0])
    assert gears(choice) == [(8,), (8,), (8,)]  # 9; 8+8+4+1 costs the same in more launches
    assert [(launch.first_row, launch.rows) for launch in choice.launches] == [(0, 8), (8, 8), (16, 5)]
    assert gears(choose(sizes, (17, 3), seconds=[0.5, 2.0, 3.0])) == [(8,), (8,), (1,)]
    # Where a large gear is slow for what it does, it is left alone.
    assert gears(choose(sizes, (9, 3), seconds=[1.0, 2.0, 40.0])) == [(4,), (4,), (1,)]


def test_before_anything_is_measured_few_launches_are_better_than_many() -> None:
    choice = choose(batch_gears([1, 2, 4, 8, 16, 32]), (77, 3))
    assert gears(choice) == [(32,), (32,), (16,)]


def test_a_model_of_one_size_takes_smaller_and_larger_requests() -> None:
    sizes = static_batch(4)
    assert choose(sizes, (4, 3)).is_exact
    assert choose(sizes, (3, 3)).launches[0].pads == ((1, 0),)
    assert [launch.rows for launch in choose(sizes, (10, 3)).launches] == [4, 4, 2]


def test_without_rows_only_the_exact_size_runs() -> None:
    sizes = static_batch(4, batched=False)
    assert choose(sizes, (4, 3)).is_exact
    for shape in ((3, 3), (5, 3), (4, 2), (4,)):
        with pytest.raises(NoGearError) as caught:
            choose(sizes, shape)
        assert caught.value.input == "x"
        assert caught.value.gears == ((4, 3),)
        assert str(list(shape)) in str(caught.value)


def test_rows_that_an_output_does_not_have_are_not_padded() -> None:
    # The output is a mean over the batch, say: padding would change it.
    sizes = static_batch(4, output=(1, 2))
    assert choose(sizes, (4, 3)).is_exact
    with pytest.raises(NoGearError, match="output 'y' does not have them"):
        choose(sizes, (3, 3))


def test_other_axes_fit_exactly_unless_allowed() -> None:
    sizes = width_gears([(1, 160), (1, 320), (8, 320)])
    assert gears(choose(sizes, (1, 3, 4, 320))) == [(1, 320)]
    assert gears(choose(sizes, (5, 3, 4, 320))) == [(8, 320)]
    assert [launch.rows for launch in choose(sizes, (2, 3, 4, 160)).launches] == [1, 1]
    with pytest.raises(NoGearError) as caught:
        choose(sizes, (1, 3, 4, 200))
    error = caught.value
    assert error.size == (1, 200)
    assert error.gears[0] == (1, 320)
    assert 'key: "gear_pad.x"' in str(error)
    assert "--dynamic_dims" in str(error)


def test_other_axes_are_padded_and_cropped_where_the_configuration_allows_it() -> None:
    sizes = width_gears([(1, 160), (1, 320), (8, 320)], stride=4)
    parameters = {"gear_pad.x": "0.5", "gear_crop.p": "1"}
    choice = choose(sizes, (5, 3, 4, 250), parameters=parameters)
    assert gears(choice) == [(8, 320)]
    assert choice.launches[0].pads == ((3, 0, 0, 70),)
    assert {
        cut.axis: cut.keep(length) for cut, length in zip(choice.launches[0].crops[0], (8, 80), strict=True)
    } == {
        0: 5,
        1: 63,  # 62.5 steps
    }
    floor = choose(sizes, (1, 3, 4, 250), parameters={**parameters, "gear_crop.p": "1 floor"})
    assert floor.launches[0].crops[0][0].keep(80) == 62
    with pytest.raises(NoGearError, match="resize"):
        choose(sizes, (1, 3, 4, 400), parameters=parameters)
    with pytest.raises(NoGearError):  # only open dimensions may be padded
        choose(sizes, (1, 2, 4, 320), parameters=parameters)


def test_every_input_that_grows_has_to_be_allowed() -> None:
    sizes = text_gears([8, 16])
    both = {"gear_pad.ids": "0", "gear_pad.mask": "0", "gear_crop.states": "1"}
    choice = choose(sizes, (1, 5), (1, 5), parameters=both)
    assert gears(choice) == [(8, 8)]
    assert choice.launches[0].crops[1] == ()  # pooled is the same in every gear
    assert choice.launches[0].crops[0][0].keep(8) == 5
    one = {"gear_pad.ids": "0", "gear_crop.states": "1"}
    with pytest.raises(NoGearError, match="gear_pad.mask"):
        choose(sizes, (1, 5), (1, 5), parameters=one)


def test_two_padded_axes_need_to_be_told_apart() -> None:
    sizes = text_gears([8, 16])
    parameters = {"gear_pad.ids": "0", "gear_pad.mask": "0", "gear_crop.states": "1"}
    with pytest.raises(NoGearError):  # 5 of ids or 6 of mask?
        choose(sizes, (1, 5), (1, 6), parameters=parameters)
    parameters["gear_crop.states"] = "1 of mask:1"
    assert choose(sizes, (1, 5), (1, 6), parameters=parameters).launches[0].crops[0][0].keep(8) == 6


def test_inputs_with_different_rows_are_refused() -> None:
    sizes = ModelSizes(
        "shape",
        (SizedInput("a", DataType.FP32, (-1, 2)), SizedInput("b", DataType.FP32, (-1, 2))),
        (SizedOutput("y"),),
        batched=True,
    )
    with pytest.raises(InvalidInputError, match="'a' has 2, 'b' has 3"):
        choose(sizes, (2, 2), (3, 2))
    with pytest.raises(InvalidInputError, match="at least one"):
        choose(sizes, (0, 2), (0, 2))
    with pytest.raises(InvalidInputError, match="2 inputs"):
        choose(sizes, (2, 2))


def test_dynamic_shapes_have_limits() -> None:
    sizes = ModelSizes(
        "shape",
        (SizedInput("x", DataType.FP32, (-1, 3, -1), ((2, 4), (3, 3), (1, 100))),),
        (SizedOutput("y"),),
        batched=True,
    )
    assert choose(sizes, (3, 3, 100)).is_exact
    assert choose(sizes, (1, 3, 7)).launches[0].pads == ((1, 0, 0),)
    split = choose(sizes, (9, 3, 7)).launches
    assert [(launch.first_row, launch.rows) for launch in split] == [(0, 3), (3, 3), (6, 3)]
    for shape in ((3, 3, 101), (3, 4, 7), (3, 3, 0), (3, 3)):
        with pytest.raises(NoGearError) as caught:
            choose(sizes, shape)
        assert caught.value.expected == "[2..4, 3..3, 1..100]" or "3" in caught.value.expected
        assert str(list(shape)) in str(caught.value)


@pytest.mark.parametrize(("shape", "what"), [((0, 4), "rows"), ((3, 0), "elements")])
@pytest.mark.parametrize("kind", ["shape", "static", "dims"])
def test_nothing_to_run_is_told_as_that(kind: str, shape: tuple[int, ...], what: str) -> None:
    if kind == "shape":
        sizes = ModelSizes(
            "shape", (SizedInput("x", DataType.FP32, (-1, -1), ((1, -1), (1, -1))),), (SizedOutput("y"),)
        )
        asked = (shape,)
    elif kind == "static":
        sizes, asked = static_batch(2, batched=False), (shape,)
    else:
        sizes, asked = text_gears([8, 16]), (shape, (1, 5))
    with pytest.raises(NoGearError, match=rf"has no {what}, and a compiled model") as caught:
        choose(sizes, *asked)
    assert "wider" not in str(caught.value)
    assert "compile the" not in str(caught.value)


def test_the_choice_does_not_depend_on_the_order_of_gears() -> None:
    assert gears(choose(batch_gears([8, 1, 4]), (3, 3))) == [(4,)]


def test_the_policy_touches_no_clock_thread_or_array() -> None:
    folder = Path(ascend_infer.gears.policy.__file__).parent
    for name in (
        "policy",
        "split",
        "shape_limits",
        "sizes",
        "choice",
        "crop",
        "cost",
        "no_gear",
        "pad_rules",
    ):
        tree = ast.parse((folder / f"{name}.py").read_text())
        used = {
            node.module.split(".")[0] if isinstance(node, ast.ImportFrom) and node.module else alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert not used & {"numpy", "threading", "time", "os"}, name
        assert used <= {*sys.stdlib_module_names, "ascend_infer"}


batch_sets = st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True)
prices = st.lists(st.floats(0.01, 100), min_size=4, max_size=4)


@given(batch_sets, st.integers(1, 40), prices)
def test_the_cheapest_launches_are_found(batches: list[int], rows: int, seconds: list[float]) -> None:
    sizes = batch_gears(batches)
    costs = seconds[: len(batches)]
    choice = choose(sizes, (rows, 3), seconds=costs)
    if rows <= max(batches):
        best = min(cost for batch, cost in zip(batches, costs, strict=True) if batch >= rows)
        assert len(choice.launches) == 1
    else:
        cheapest = [0.0]
        for n in range(1, rows + 1):
            cheapest.append(
                min(cheapest[max(0, n - b)] + cost for b, cost in zip(batches, costs, strict=True))
            )
        best = cheapest[rows]
    assert choice.cost == pytest.approx(best)


@given(batch_sets, st.integers(1, 300), prices)
def test_launches_take_every_row_once_in_order(batches: list[int], rows: int, seconds: list[float]) -> None:
    choice = choose(batch_gears(batches), (rows, 3), seconds=seconds[: len(batches)])
    covered = []
    for launch in choice.launches:
        assert launch.gear is not None
        assert 1 <= launch.rows <= launch.gear.values[0]  # never a gear smaller than its part
        assert launch.input_shapes[0][0] - launch.pads[0][0] == launch.rows
        covered += range(launch.first_row, launch.first_row + launch.rows)
    assert covered == list(range(rows))
    assert 0 <= choice.waste < 1


dims_gears = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 6)), min_size=1, max_size=5, unique=True)


@given(dims_gears, st.integers(1, 7), st.integers(1, 8), st.booleans())
def test_an_error_means_that_no_gear_fits(
    known: list[tuple[int, int]], rows: int, width: int, allowed: bool
) -> None:
    sizes = width_gears(known)
    parameters = {"gear_pad.x": "0", "gear_crop.p": "1"} if allowed else {}
    fits = any(w >= width if allowed else w == width for _, w in known)
    try:
        choice = choose(sizes, (rows, 3, 4, width), parameters=parameters)
    except NoGearError as error:
        assert not fits
        assert error.size == (rows, width)
        assert 1 <= len(error.gears) <= 4
        assert set(error.gears) <= set(known)
        return
    assert fits
    for launch in choice.launches:
        assert launch.input_shapes[0][3] >= width
        assert allowed or launch.input_shapes[0][3] == width


@given(st.integers(1, 10**9), prices)
def test_huge_requests_are_split_in_bounded_time(rows: int, seconds: list[float]) -> None:
    from ascend_infer.gears.split import split_rows

    rows %= 2_000_000
    capacities = [1, 64, 128, 2048]
    parts = split_rows(rows + 1, capacities, seconds)
    taken = sum(capacities[part] for part in parts)
    assert taken >= rows + 1
    assert taken - capacities[parts[-1]] < rows + 1
    cheapest = min(cost / capacity for cost, capacity in zip(seconds, capacities, strict=True))
    assert sum(seconds[part] for part in parts) <= cheapest * (rows + 1) + max(seconds) * 2


def test_costs_of_other_lengths_are_the_callers_mistake() -> None:
    with pytest.raises(IndexError):
        choose_gear(batch_gears([1, 2]), ((2, 3),), rules=PadRules(), costs=Costs((), ()))
