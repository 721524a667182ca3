"""Which whole numbers a graph lets an input have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_models as made
import pytest
from onnx import TensorProto, helper
from real_models import real_file

from ascend_infer.onnx_file import ValueLimit, input_limits

TABLE = np.zeros((50, 4), np.float32)


def encoder(path: Path, nodes: list[object], weights: dict[str, np.ndarray]) -> dict[str, ValueLimit]:
    model = made.model_of(
        nodes,
        [made.value("ids", TensorProto.INT64, ["n", "t"])],
        [made.value("y", TensorProto.FLOAT, None)],
        weights,
    )
    return input_limits(made.write(model, path / "m.onnx"))


def gather(data: str = "table", indices: str = "ids", axis: int = 0) -> object:
    return helper.make_node("Gather", [data, indices], ["y"], axis=axis)


def test_ids_go_up_to_the_size_of_their_table(tmp_path: Path) -> None:
    found = encoder(tmp_path, [gather()], {"table": TABLE})
    assert found["ids"].size == 50
    assert "'table', which has 50 entries" in found["ids"].reason


def test_the_axis_counts_and_may_be_negative(tmp_path: Path) -> None:
    assert encoder(tmp_path, [gather(axis=1)], {"table": TABLE})["ids"].size == 4
    assert encoder(tmp_path, [gather(axis=-2)], {"table": TABLE})["ids"].size == 50
    assert encoder(tmp_path, [gather(axis=7)], {"table": TABLE}) == {}


def test_casts_and_shapes_between_change_nothing(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["ids"], ["a"], to=TensorProto.INT32),
        helper.make_node("Reshape", ["a", "shape"], ["b"]),
        gather(indices="b"),
    ]
    assert encoder(tmp_path, nodes, {"table": TABLE, "shape": np.array([-1])})["ids"].size == 50


def test_numbers_that_are_calculated_with_are_no_indices_of_their_own(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["ids", "two"], ["a"]), gather(indices="a")]
    assert encoder(tmp_path, nodes, {"table": TABLE, "two": np.array(2)}) == {}


def test_a_quantized_and_scaled_table(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["quantized"], ["a"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["a", "scales"], ["table"]),
        gather(),
    ]
    weights = {"quantized": np.zeros((50, 4), np.int8), "scales": np.ones((50, 1), np.float32)}
    assert encoder(tmp_path, nodes, weights)["ids"].size == 50


def test_the_smallest_of_several_tables_counts(tmp_path: Path) -> None:
    nodes = [gather(), helper.make_node("Gather", ["small", "ids"], ["z"])]
    weights = {"table": TABLE, "small": np.zeros((9, 4), np.float32)}
    assert encoder(tmp_path, nodes, weights)["ids"].size == 9


def test_a_table_in_a_constant_node(tmp_path: Path) -> None:
    from onnx import numpy_helper

    constant = helper.make_node("Constant", [], ["table"], value=numpy_helper.from_array(TABLE))
    assert encoder(tmp_path, [constant, gather()], {})["ids"].size == 50


def test_what_is_only_cast_to_bool_is_a_mask(tmp_path: Path) -> None:
    asked = helper.make_node("Cast", ["ids"], ["y"], to=TensorProto.BOOL)
    assert encoder(tmp_path, [asked], {})["ids"].mask
    counted = helper.make_node("ReduceSum", ["ids"], ["z"])
    assert encoder(tmp_path, [asked, counted], {}) == {}


@pytest.mark.models
def test_a_real_encoder_shows_all_its_limits() -> None:
    found = input_limits(real_file("minilm.onnx"))
    assert {name: (limit.size, limit.mask) for name, limit in found.items()} == {
        "input_ids": (30522, False),
        "token_type_ids": (2, False),
        "attention_mask": (2, True),
    }
