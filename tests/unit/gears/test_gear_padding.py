"""Padding and cropping arrays: nothing leaks in, nothing gets lost, nothing is copied in vain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gear_models import batch_gears, static_batch, text_gears, width_gears
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.gears import GearLaunch, ModelSizes, PadRules, SizedInput, SizedOutput, choose_gear
from ascend_infer.gears.cost import estimated_costs
from ascend_infer.gears.padding import crop_outputs, join_outputs, pad_inputs, run_choice
from ascend_infer.types import DataType

Array = np.ndarray[Any, Any]
RULES = PadRules()


def choose(sizes: ModelSizes, *shapes: tuple[int, ...], rules: PadRules = RULES) -> Any:
    return choose_gear(sizes, shapes, rules=rules, costs=estimated_costs(sizes))


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True),
    st.integers(1, 30),
    st.sampled_from([t for t in DataType if t is not DataType.BYTES]),
)
def test_rowwise_functions_do_not_notice(batches: list[int], rows: int, dtype: DataType) -> None:
    sizes = batch_gears(batches)
    x = np.arange(rows * 3).reshape(rows, 3).astype(np.uint8).astype(dtype.numpy)
    seen: list[int] = []

    def launch(each: GearLaunch, inputs: list[Array]) -> list[Array]:
        (array,) = inputs
        assert array.shape == each.input_shapes[0]
        assert array.dtype == x.dtype
        assert array.flags.c_contiguous
        assert not array[each.rows :].view(np.uint8).any()  # added rows hold zeros
        seen.append(len(array))
        return [np.ascontiguousarray(array[:, ::-1])]

    (y,) = run_choice(sizes, choose(sizes, x.shape), [x], launch, rules=RULES)
    assert y.dtype == x.dtype
    assert np.array_equal(y.view(np.uint8), np.ascontiguousarray(x[:, ::-1]).view(np.uint8))
    assert set(seen) <= set(batches)


@given(st.integers(1, 5), st.integers(1, 12), st.sampled_from([1, 4]), st.sampled_from(["0", "-2.5", "nan"]))
def test_padded_widths_hold_the_fill_and_are_cut_again(rows: int, width: int, stride: int, fill: str) -> None:
    sizes = width_gears([(2, 4), (4, 8), (4, 12)], stride=stride)
    rules = PadRules.from_parameters({"gear_pad.x": fill, "gear_crop.p": "1"}, sizes)
    x = np.random.default_rng(0).normal(size=(rows, 3, 4, width)).astype(np.float32)

    def launch(each: GearLaunch, inputs: list[Array]) -> list[Array]:
        (array,) = inputs
        part = array[: each.rows]
        assert np.array_equal(part[..., :width], x[each.first_row : each.first_row + each.rows])
        assert np.array_equal(part[..., width:], np.full_like(part[..., width:], float(fill)), equal_nan=True)
        assert not array[each.rows :].any()
        columns = array[:, 0, 0, ::stride]
        return [np.repeat(columns[:, :, None], 5, axis=2)]

    (p,) = run_choice(sizes, choose(sizes, x.shape, rules=rules), [x], launch, rules=rules)
    assert np.array_equal(p, np.repeat(x[:, 0, 0, ::stride, None], 5, axis=2))


def test_what_fits_is_not_copied() -> None:
    sizes = batch_gears([2, 4])
    x = np.ones((4, 3), np.float32)
    launch = choose(sizes, x.shape).launches[0]
    assert pad_inputs(sizes, launch, [x], rules=RULES)[0].base is x
    y = np.ones((4, 2), np.float32)
    assert crop_outputs(launch, [y])[0] is y
    padded = choose(sizes, (3, 3)).launches[0]
    assert crop_outputs(padded, [y])[0].base is y


def test_what_is_not_contiguous_is_copied_once() -> None:
    sizes = batch_gears([4])
    x = np.arange(12, dtype=np.float32).reshape(3, 4).T
    (made,) = pad_inputs(sizes, choose(sizes, x.shape).launches[0], [x], rules=RULES)
    assert made.flags.c_contiguous
    assert np.array_equal(made, x)


def test_buffers_are_written_from_their_beginning() -> None:
    sizes = batch_gears([2, 4])
    buffer = np.full(100, 0xAA, np.uint8)
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    (made,) = pad_inputs(sizes, choose(sizes, x.shape).launches[0], [x], rules=RULES, buffers={0: buffer})
    assert np.shares_memory(made, buffer)
    assert np.array_equal(made, np.vstack([x, np.zeros((1, 3), np.float32)]))
    assert (buffer[48:] == 0xAA).all()
    with pytest.raises(ValueError, match="does not hold 48 bytes"):
        pad_inputs(sizes, choose(sizes, x.shape).launches[0], [x], rules=RULES, buffers={0: buffer[:47]})
    with pytest.raises(ValueError, match="not contiguous"):
        pad_inputs(sizes, choose(sizes, x.shape).launches[0], [x], rules=RULES, buffers={0: buffer[::2]})


def test_nothing_of_an_earlier_request_stays_in_a_buffer() -> None:
    sizes = text_gears([4, 8])
    rules = PadRules.from_parameters(
        {"gear_pad.ids": "7", "gear_pad.mask": "0", "gear_crop.states": "1"}, sizes
    )
    buffers = {0: np.full(64, 0xFF, np.uint8), 1: np.full(64, 0xFF, np.uint8)}
    for length in (8, 5, 3):
        ids, mask = np.full((1, length), length), np.ones((1, length), np.int64)
        launch = choose(sizes, ids.shape, mask.shape, rules=rules).launches[0]
        made = pad_inputs(sizes, launch, [ids, mask], rules=rules, buffers=buffers)
        assert made[0].ravel().tolist() == [length] * length + [7] * (made[0].size - length)
        assert made[1].ravel().tolist() == [1] * length + [0] * (made[1].size - length)
        cropped = crop_outputs(launch, [np.zeros((1, made[0].size, 4)), np.zeros((1, 4))])
        assert [part.shape for part in cropped] == [(1, length, 4), (1, 4)]


def test_inputs_without_rows_go_whole_to_every_launch() -> None:
    from ascend_infer.gears import CompiledSize
    from ascend_infer.types import Gear

    sizes = ModelSizes(
        "batch",
        (SizedInput("x", DataType.FP32, (-1, 2)), SizedInput("scale", DataType.FP32, (1,))),
        (SizedOutput("y"),),
        tuple(CompiledSize(Gear("batch", (n,)), ((n, 2), (1,)), ((n, 2),)) for n in (1, 2)),
        batched=True,
        order=((0, 0),),
    )
    x, scale = np.arange(10, dtype=np.float32).reshape(5, 2), np.array([3.0], np.float32)
    (y,) = run_choice(
        sizes, choose(sizes, x.shape, scale.shape), [x, scale],
        lambda _, inputs: [inputs[0] * inputs[1]], rules=RULES,
    )  # fmt: skip
    assert np.array_equal(y, x * 3)


def test_outputs_are_joined_where_they_are_asked_for() -> None:
    sizes = static_batch(2)
    choice = choose(sizes, (5, 3))
    out = np.zeros((5, 2), np.float32)
    parts = [[np.full((launch.rows, 2), number, np.float32)] for number, launch in enumerate(choice.launches)]
    assert join_outputs(choice, parts, {0: out})[0] is out
    assert out[:, 0].tolist() == [0, 0, 1, 1, 2]
    single = choose(sizes, (1, 3))
    assert join_outputs(single, [[out[:1]]], None)[0].base is out
    target = np.ones((1, 2), np.float32)
    assert join_outputs(single, [[out[:1]]], {0: target})[0] is target
    assert not target.any()


def test_rows_of_several_output_rows_each_are_cut_in_proportion() -> None:
    # Four boxes a picture: the output's first axis is four times the batch.
    from ascend_infer.gears import CompiledSize
    from ascend_infer.types import Gear

    sizes = ModelSizes(
        "batch",
        (SizedInput("x", DataType.FP32, (-1, 2)),),
        (SizedOutput("boxes"),),
        tuple(CompiledSize(Gear("batch", (n,)), ((n, 2),), ((4 * n, 1),)) for n in (2, 4)),
        batched=True,
        order=((0, 0),),
    )
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    (y,) = run_choice(
        sizes, choose(sizes, x.shape), [x], lambda _, inputs: [np.repeat(inputs[0][:, :1], 4, axis=0)],
        rules=RULES,
    )  # fmt: skip
    assert y.ravel().tolist() == [0] * 4 + [2] * 4 + [4] * 4


def test_an_axis_that_an_output_does_not_have_is_named() -> None:
    sizes = width_gears([(1, 8)], known=False)
    rules = PadRules.from_parameters({"gear_pad.x": "0", "gear_crop.p": "7"}, sizes)
    launch = choose(sizes, (1, 3, 4, 5), rules=rules).launches[0]
    with pytest.raises(ValueError, match="no axis 7"):
        crop_outputs(launch, [np.zeros((1, 8, 5))])
