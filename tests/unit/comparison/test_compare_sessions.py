"""Pairing two sessions' tensors, and what a comparison shows."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from onnx import TensorProto, helper

import ascend_infer as ai
from ascend_infer.comparison import Comparison, compare
from ascend_infer.errors import InvalidInputError

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def compared(tmp_path: Path, a: Any, b: Any, feeds: Any, **options: Any) -> Comparison:
    paths = made.write(a, tmp_path / "a.onnx"), made.write(b, tmp_path / "b.onnx")
    with ai.Session(paths[0], device="cpu") as first, ai.Session(paths[1], device="cpu") as second:
        return compare(first, second, feeds, **options)


def test_other_names_are_paired_by_place_and_that_is_said(tmp_path: Path) -> None:
    found = compared(tmp_path, made.identity(), made.identity(source="u", target="v"), {"x": X})
    assert found.verdict == "same"
    assert found.outputs["y"].other_name == "v"
    assert found.notes == (
        "input 'x' of A is compared with 'u' of B, by its place",
        "output 'y' of A is compared with 'v' of B, by its place",
    )


def test_an_input_that_only_b_has_cannot_be_fed(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="takes input 'A', which A, 'a', has not"):
        compared(tmp_path, made.identity(), made.add_sub(), {"x": X})


def test_an_output_that_only_one_has_is_a_difference(tmp_path: Path) -> None:
    only_sum = made.add_sub()
    del only_sum.graph.output[1]
    del only_sum.graph.node[1]
    found = compared(tmp_path, made.add_sub(), only_sum, {"A": X, "B": X})
    assert found.verdict == "differs"
    assert "B has no output 'D'" in found.sentence
    assert found.outputs["S"].identical


def test_half_precision_inputs_are_converted_and_types_are_named(tmp_path: Path) -> None:
    found = compared(tmp_path, made.identity(), made.identity(TensorProto.FLOAT16), {"x": X})
    assert found.verdict == "close"
    assert [finding.kind for finding in found.findings] == ["other_type"]
    assert found.sentence == "within tolerance: output 'y' is FP32 in A and FP16 in B"
    assert found.notes == ("input 'x' is FP32 in A and FP16 in B; values are converted for B",)


@pytest.mark.parametrize(
    ("first", "second", "held", "lost"),
    [
        (TensorProto.INT64, TensorProto.INT32, -(2**31), 2**31),
        (TensorProto.INT64, TensorProto.UINT8, 255, -1),
        (TensorProto.UINT64, TensorProto.INT64, 2**63 - 1, 2**63),
    ],
)
def test_whole_numbers_are_converted_as_long_as_they_stay_the_same(
    tmp_path: Path, first: int, second: int, held: int, lost: int
) -> None:
    models = made.identity(first), made.identity(second)
    x = np.zeros((2, 4), helper.tensor_dtype_to_np_dtype(first))
    x[1, 2] = held
    found = compared(tmp_path, *models, {"x": x})
    assert found.verdict != "differs"
    x[1, 2] = lost
    with pytest.raises(InvalidInputError, match=f"input 'x': got {lost}, expected numbers from .*compare on"):
        compared(tmp_path, *models, {"x": x})
    assert compared(tmp_path, *models, {"x": x[:0]}).requests == 1


def test_an_input_that_only_a_has_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    square = made.model_of(
        [helper.make_node("Add", ["A", "A"], ["S"]), helper.make_node("Sub", ["A", "A"], ["D"])],
        [made.value("A", TensorProto.FLOAT, ["n", 4])],
        [made.value(name, TensorProto.FLOAT, ["n", 4]) for name in "SD"],
    )
    found = compared(tmp_path, made.add_sub(), square, {"A": X, "B": X})
    assert found.verdict == "same"
    assert found.notes == ("input 'B' of A is not an input of B, which runs without it",)


def test_numbers_that_are_none_in_one_of_the_two_are_said(tmp_path: Path) -> None:
    logarithm = made.model_of(
        [helper.make_node("Log", ["x"], ["l"]), helper.make_node("Exp", ["l"], ["y"])],
        [made.value("x", TensorProto.FLOAT, ["n", 4])],
        [made.value("y", TensorProto.FLOAT, ["n", 4])],
    )
    found = compared(tmp_path, made.identity(), logarithm, {"x": np.array([[1, -2, 3, -4]], np.float32)})
    assert found.verdict == "differs"
    assert found.findings[-1].kind == "not_finite"
    assert (
        "has 0 NaN or infinite elements in A and 2 in B, 2 of them not at the same places" in found.sentence
    )


def test_text_beside_numbers(tmp_path: Path) -> None:
    def model(factor: float) -> Any:
        return made.model_of(
            [helper.make_node("Identity", ["t"], ["u"]), helper.make_node("Mul", ["x", "factor"], ["y"])],
            [made.value("t", TensorProto.STRING, ["n"]), made.value("x", TensorProto.FLOAT, ["n", 4])],
            [made.value("u", TensorProto.STRING, ["n"]), made.value("y", TensorProto.FLOAT, ["n", 4])],
            {"factor": np.float32(factor)},
        )

    found = compared(tmp_path, model(1), model(1.0002), {"t": ["a", "b"], "x": X})
    assert (found.verdict, found.outputs["u"].identical) == ("close", True)


def test_another_shape_is_a_difference(tmp_path: Path) -> None:
    flat = made.model_of(
        [helper.make_node("Flatten", ["x"], ["y"], axis=0)],
        [made.value("x", TensorProto.FLOAT, ["n", 4])],
        [made.value("y", TensorProto.FLOAT, [1, "m"])],
    )
    found = compared(tmp_path, made.identity(), flat, {"x": X})
    assert found.verdict == "differs"
    assert "output 'y' is [2, 4] in A and [1, 8] in B" in found.sentence


def test_an_error_says_whose_it_is(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as caught:
        compared(tmp_path, made.identity(), made.identity(dims=("n", 5)), {"x": X})
    assert caught.value.__notes__ == ["while running B, b on cpu"]


def test_no_request_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="got no request"):
        compared(tmp_path, made.identity(), made.identity(), [])


def test_a_comparison_shows_itself(tmp_path: Path) -> None:
    found = compared(tmp_path, made.identity(), made.scale(1.5), [{"x": X}, {"x": -X}])
    assert repr(found).startswith("<Comparison of a on cpu with b on cpu on 2 requests: differs")
    page = found._repr_html_()
    assert "<td style='text-align:left'>y</td>" in page
    assert "differs" in page
    plain = json.loads(json.dumps(found.to_dict()))
    assert (plain["verdict"], plain["requests"], plain["outputs"]["y"]["max_abs"]) == ("differs", 2, 3.5)
    assert found.outputs["y"].cosine == pytest.approx(1)
