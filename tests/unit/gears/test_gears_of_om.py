"""Sizes out of .om files, those that the simulator's writer makes."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ascend_infer import om
from ascend_infer.gears import PadRules, choose_gear, sizes_of_om
from ascend_infer.gears.cost import estimated_costs
from ascend_infer.types import DataType, Gear, TensorSpec


def written(inputs: list[TensorSpec], outputs: list[TensorSpec], **options: Any) -> om.OmModel:
    from onnx import TensorProto, helper

    def value(spec: TensorSpec) -> Any:
        return helper.make_tensor_value_info(spec.name, TensorProto.FLOAT, [None] * len(spec.shape))

    graph = helper.make_graph(
        [helper.make_node("Identity", [inputs[0].name], [out.name]) for out in outputs],
        "net",
        list(map(value, inputs)),
        list(map(value, outputs)),
    )
    file = io.BytesIO()
    model = helper.make_model(graph).SerializeToString()
    om.write_simulator_model(file, onnx=model, inputs=inputs, outputs=outputs, **options)
    return om.read_bytes(file.getvalue())


def spec(name: str, *shape: int) -> TensorSpec:
    return TensorSpec(name, DataType.FP32, shape)


def test_batch_gears() -> None:
    model = written([spec("x", -1, 3)], [spec("y", -1, 3)], gears=[Gear("batch", (1,)), Gear("batch", (8,))])
    sizes = sizes_of_om(model)
    assert sizes.kind == "batch"
    assert sizes.batched
    assert [size.inputs for size in sizes.sizes] == [((1, 3),), ((8, 3),)]
    assert sizes.rows_are_free
    assert sizes.most_rows == 8
    assert sizes.output_index("y") == 0
    choice = choose_gear(sizes, [(5, 3)], rules=PadRules(), costs=estimated_costs(sizes))
    assert choice.gear == Gear("batch", (8,))


def test_dims_gears_fill_in_the_models_order() -> None:
    model = written(
        [spec("a", 1, -1), spec("b", -1, 2)],
        [spec("y", 1, -1)],
        gears=[Gear("dims", (5, 8)), Gear("dims", (6, 16))],
        gear_outputs=[[(1, 8)], [(1, 16)]],
        shape_order=["b", "a"],
    )
    sizes = sizes_of_om(model)
    assert [size.inputs for size in sizes.sizes] == [((1, 8), (5, 2)), ((1, 16), (6, 2))]
    assert sizes.values([(1, 8), (5, 2)]) == (5, 8)
    assert not sizes.row_inputs


def test_picture_sizes() -> None:
    model = written(
        [spec("image", 4, 3, -1, -1)],
        [spec("y", 4, 3, -1, -1)],
        gears=[Gear("hw", (16, 24)), Gear("hw", (32, 32))],
        gear_outputs=[[(4, 3, 16, 24)], [(4, 3, 32, 32)]],
    )
    sizes = sizes_of_om(model, batched=True)
    assert sizes.values([(4, 3, 16, 24)]) == (16, 24)
    assert sizes.rows_are_free
    choice = choose_gear(sizes, [(2, 3, 16, 24)], rules=PadRules(), costs=estimated_costs(sizes))
    assert choice.gear == Gear("hw", (16, 24))
    assert choice.launches[0].pads == ((2, 0, 0, 0),)


@pytest.mark.parametrize("batched", [True, False])
def test_static_models(batched: bool) -> None:
    sizes = sizes_of_om(written([spec("x", 4, 3)], [spec("y", 4, 3)]), batched=batched)
    assert sizes.kind == "static"
    assert sizes.rows_are_free == batched
    assert sizes.sizes[0].outputs == ((4, 3),)


def test_dynamic_shapes() -> None:
    model = written(
        [spec("x", -1, 3)], [spec("y", -1, 3)], shape_ranges={"x": [(1, 16), (3, 3)], "y": [(1, 16), (3, 3)]}
    )
    sizes = sizes_of_om(model, batched=True)
    assert sizes.kind == "shape"
    assert sizes.most_rows == 16
    assert sizes.inputs[0].limits == ((1, 16), (3, 3))
