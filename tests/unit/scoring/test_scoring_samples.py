"""What a row holds becomes the arrays of one sample, or a reason why it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascend_infer.errors import InvalidInputError
from ascend_infer.scoring.samples import sample_of
from ascend_infer.types import DataType, TensorSpec

FOUR = {"x": TensorSpec("x", DataType.FP32, (4,))}
WHOLE = {"x": TensorSpec("x", DataType.UINT8, (2,))}
TWO = {"a": TensorSpec("a", DataType.FP32, (1,)), "b": TensorSpec("b", DataType.BYTES, (1,))}


@pytest.mark.parametrize(
    "item",
    [
        [1, 2, 3, 4],
        {"x": [1, 2, 3, 4]},
        {"p": "1", "q": "2", "r": "3", "s": "4"},
        {"values": (1, 2, 3, 4)},
        np.array([[1, 2], [3, 4]], np.float32).reshape(-1),
    ],
)
def test_numbers_of_any_kind(item: Any) -> None:
    [(name, array)] = sample_of(item, FOUR).items()
    assert name == "x"
    assert array.dtype == np.float32
    assert array.tolist() == [1, 2, 3, 4]


def test_arrays_keep_their_type_for_the_session_to_judge() -> None:
    assert sample_of(np.ones(4), FOUR)["x"].dtype == np.float64


def test_texts_and_flat_values_take_the_inputs_shape() -> None:
    found = sample_of({"a": "2.5", "b": "word"}, TWO)
    assert found["a"].tolist() == [2.5]
    assert found["b"].tolist() == ["word"]
    square = {"x": TensorSpec("x", DataType.FP32, (2, 2))}
    assert sample_of([1, 2, 3, 4], square)["x"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("item", "inputs", "problem"),
    [
        ({"p": "one", "q": "2"}, FOUR, "got .*expected float32"),
        ([1.5, 2], WHOLE, "expected whole numbers"),
        ([300, 2], WHOLE, "from 0 to 255"),
        ([None, 2], WHOLE, "expected uint8"),
        ([[1], [2, 3]], FOUR, "expected float32"),
        ([1.0], TWO, "expected values by name for the inputs a, b"),
        ({"a": 1}, TWO, "'b' is missing: the record has 'a'"),
        ({"a": 1, "b": 3}, TWO, "'b': got 3, expected text"),
    ],
)
def test_what_does_not_fit_names_the_input(item: Any, inputs: Any, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        sample_of(item, inputs)
