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


def of(dtype: DataType, size: int = 2) -> dict[str, TensorSpec]:
    return {"x": TensorSpec("x", dtype, (size,))}


@pytest.mark.parametrize(
    ("item", "dtype"),
    [
        ([2**64 - 1, 1], DataType.UINT64),
        ([str(2**64 - 1), "1"], DataType.UINT64),
        ([str(2**63), 1], DataType.UINT64),
        ([2**53 + 1, 1.0], DataType.INT64),
        (["9007199254740993", "1.0"], DataType.INT64),
        (["9007199254740993.0", "1e3"], DataType.INT64),
        ([-(2**63), 2**63 - 1], DataType.INT64),
        ([2**53, "16777216"], DataType.FP32),
    ],
)
def test_whole_numbers_come_as_they_were_written(item: list[Any], dtype: DataType) -> None:
    from decimal import Decimal

    found = sample_of(item, of(dtype))["x"]
    assert found.dtype == dtype.numpy
    assert [int(number) for number in found] == [int(Decimal(number)) for number in item]


@pytest.mark.parametrize(
    ("item", "dtype", "problem"),
    [
        ([str(2**64), 1], DataType.UINT64, "from 0 to 18446744073709551615"),
        ([2**63, 1], DataType.INT64, "to 9223372036854775807"),
        (["9223372036854775808", "1"], DataType.INT64, "to 9223372036854775807"),
        ([float(2**63), 1], DataType.INT64, "whole numbers .*without a point"),
        (["1e999999999", "1"], DataType.INT64, "expected int64"),
        (["1_000", "1"], DataType.INT64, "'1_000'.*expected int64"),
        (["1_000.5", "1"], DataType.FP32, "expected float32"),
        (["16777217", "1.5"], DataType.FP32, "'16777217', expected numbers that FP32 can hold"),
        ([16777217, 1], DataType.FP32, "16777217, expected numbers that FP32 can hold"),
        ([2**53 + 1, 1], DataType.FP64, "expected numbers that FP64 can hold"),
        (["1e300", "1"], DataType.FP32, "expected numbers that FP32 can hold"),
        ([1e300, 1.0], DataType.FP32, r"1e\+300, expected numbers that FP32 can hold"),
        (["1e999", "1"], DataType.FP64, "expected numbers that FP64 can hold"),
        ([70000.0, 1.0], DataType.FP16, "expected numbers that FP16 can hold"),
        ([10**400, 1], DataType.FP32, "expected float32"),
        ([True, False], DataType.FP32, "not booleans"),
        ([True, 2], DataType.INT64, "not booleans"),
        ([np.bool_(True), np.float32(2)], DataType.FP32, "not booleans"),
        ([np.int64(2**53 + 1), np.float64(2)], DataType.FP64, "float64 beside them"),
        ([np.int64(1), None], DataType.INT64, "expected numbers only, each with a value"),
        ([np.int64(1), "2"], DataType.INT64, "expected numbers only"),
    ],
)
def test_a_number_that_would_become_another_one_is_refused(
    item: list[Any], dtype: DataType, problem: str
) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        sample_of(item, of(dtype))


@pytest.mark.parametrize(
    ("item", "dtype", "shown", "nearest"),
    [
        (16777217, DataType.FP32, "16777217.0", 16777216),
        (" 16777217 ", DataType.FP32, "16777217.0", 16777216),
        (b"-16777217", DataType.FP32, "-16777217.0", -16777216),
        (2049, DataType.FP16, "2049.0", 2048),
        (2**53 + 1, DataType.FP64, "9007199254740993.0", 2**53),
    ],
)
def test_the_way_out_that_is_shown_works(item: Any, dtype: DataType, shown: str, nearest: int) -> None:
    with pytest.raises(
        InvalidInputError, match=rf"write it with a point \({shown}\) to have it rounded, to {nearest}, or"
    ):
        sample_of([item, 1], of(dtype))
    for written in (shown, float(shown)):
        assert sample_of([written, 1], of(dtype))["x"].tolist() == [nearest, 1]
    assert sample_of(np.array([nearest, 1], dtype.numpy), of(dtype))["x"].tolist() == [nearest, 1]


@pytest.mark.parametrize("item", ["1e300", "70000", 70000.0])
def test_where_there_is_no_way_out_none_is_shown(item: Any) -> None:
    with pytest.raises(InvalidInputError, match="numbers that FP16 can hold$"):
        sample_of([item, 1], of(DataType.FP16))


def test_fractions_are_rounded_and_infinities_that_are_meant_are_kept() -> None:
    found = sample_of(["0.1", "-Infinity", "nan", 1e-300], of(DataType.FP32, 4))["x"]
    assert found.dtype == np.float32
    assert found.tolist()[:2] == [np.float32(0.1), -np.inf]
    assert np.isnan(found[2])
    assert found[3] == 0
    assert sample_of([True, 0], of(DataType.BOOL))["x"].tolist() == [True, False]


def test_a_record_of_typed_numbers_keeps_their_type() -> None:
    record = {"a": np.float64(1), "b": np.float64(2)}
    assert sample_of(record, of(DataType.FP32))["x"].dtype == np.float64
    assert (
        sample_of([np.ones(1), np.ones(1)], {"x": TensorSpec("x", DataType.FP32, (2, 1))})["x"].dtype
        == np.float64
    )
    same = sample_of({"a": np.float32(1), "b": np.float32(2)}, of(DataType.FP32))["x"]
    assert same.dtype == np.float32
