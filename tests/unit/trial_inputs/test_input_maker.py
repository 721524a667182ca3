"""Requests that are made up: in types, sizes and ranges that the model can take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascend_infer.errors import InvalidInputError, InvalidOptionError
from ascend_infer.onnx_file import ValueLimit
from ascend_infer.trial_inputs import InputMaker, ValueRange
from ascend_infer.types import DataType, TensorSpec


def made(*inputs: TensorSpec, seed: int = 1, **options: Any) -> dict[str, np.ndarray[Any, Any]]:
    return InputMaker("m", inputs, options.pop("batched", True), **options).make(seed)


IDS = TensorSpec("ids", DataType.INT64, (-1, -1))


@pytest.mark.parametrize(
    "dtype", [item for item in DataType if item not in (DataType.INT4, DataType.BYTES)], ids=str
)
def test_every_type_is_fed_as_itself(dtype: DataType) -> None:
    try:
        wanted = dtype.numpy
    except ImportError:
        pytest.skip("ml_dtypes is not installed")
    ranges = {"x": ValueRange(0, 5)} if wanted.kind in "iu" else {}
    found = made(TensorSpec("x", dtype, (-1, 3)), batch=2, ranges=ranges)["x"]
    assert (found.dtype, found.shape) == (wanted, (2, 3))
    assert made(TensorSpec("x", dtype, (-1, 3)), fill="zero")["x"].tobytes() == bytes(3 * wanted.itemsize)


def test_fractions_are_from_zero_to_below_one_or_in_their_range() -> None:
    spec = TensorSpec("x", DataType.FP32, (-1, 1000))
    usual = made(spec)["x"]
    assert usual.min() >= 0
    assert 0.9 < usual.max() < 1
    ranged = made(spec, ranges={"x": ValueRange(-2, 3)})["x"]
    assert -2 <= ranged.min() < -1.9
    assert 2.9 < ranged.max() <= 3


def test_ids_stay_below_the_limit_and_reach_it() -> None:
    found = made(IDS, shapes={"ids": [500]}, limits={"ids": ValueLimit(7, "table")})["ids"]
    assert set(found.reshape(-1).tolist()) == set(range(7))


def test_a_stated_range_goes_before_the_limit_and_has_both_ends() -> None:
    found = made(
        IDS, shapes={"ids": [200]}, limits={"ids": ValueLimit(7, "table")}, ranges={"ids": ValueRange(-1, 1)}
    )["ids"]
    assert set(found.reshape(-1).tolist()) == {-1, 0, 1}


def test_the_largest_numbers_of_a_type() -> None:
    spec = TensorSpec("x", DataType.UINT64, (-1, 100))
    found = made(spec, ranges={"x": ValueRange(2**64 - 2, 2**64 - 1)})["x"]
    assert set(found.reshape(-1).tolist()) == {2**64 - 2, 2**64 - 1}


def test_whole_numbers_of_unknown_meaning_are_not_guessed() -> None:
    with pytest.raises(InvalidInputError, match="--range ids:LOWEST,HIGHEST"):
        made(IDS, shapes={"ids": [4]})


def test_masks_are_ones_with_zeros_behind_them() -> None:
    mask = TensorSpec("attention_mask", DataType.INT64, (-1, -1))
    for limits in ({}, {"attention_mask": ValueLimit(2, "cast", mask=True)}):
        found = made(mask, batch=50, shapes={"attention_mask": [9]}, limits=limits)["attention_mask"]
        assert (found[:, 0] == 1).all()
        assert (np.diff(found, axis=1) <= 0).all()
        assert len({int(row.sum()) for row in found}) > 3


def test_the_same_seed_gives_the_same_numbers() -> None:
    spec = TensorSpec("x", DataType.FP32, (-1, 9))
    assert np.array_equal(made(spec, seed=4)["x"], made(spec, seed=4)["x"])
    assert not np.array_equal(made(spec, seed=4)["x"], made(spec, seed=5)["x"])


def test_text() -> None:
    spec = TensorSpec("t", DataType.BYTES, (-1, 2))
    random = made(spec, batch=2, text_length=5)["t"]
    assert random.shape == (2, 2)
    assert {len(text) for text in random.reshape(-1)} == {5}
    assert made(spec, text="one")["t"].tolist() == [["one", "one"]]


def test_optional_inputs_are_left_out_unless_they_get_a_shape() -> None:
    spec = TensorSpec("x", DataType.FP32, (-1, -1), optional=True)
    assert made(spec) == {}
    assert made(spec, shapes={"x": [3]})["x"].shape == (1, 3)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({}, InvalidInputError, r"open dimensions.*--shape ids:d"),
        (
            {"shapes": {"ids": [1, 2]}},
            InvalidInputError,
            r"got shape \[1, 2\], expected \[any\]; the batch is not",
        ),
        ({"shapes": {"idz": [1]}}, InvalidInputError, "did you mean 'ids'"),
        ({"ranges": {"ids": ValueRange(0.1, 0.9)}}, InvalidOptionError, "expected whole numbers of INT64"),
        ({"batched": False, "batch": 2}, InvalidOptionError, "takes no batch"),
        ({"shapes": {"ids": [2**62]}, "fill": "zero"}, InvalidInputError, "does not fit into memory"),
    ],
)
def test_what_cannot_be_made(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        made(IDS, **options)


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "2,1", "nan,1", "0,inf"])
def test_ranges_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="--range: got"):
        ValueRange.parse(text)


def test_ranges_are_read() -> None:
    assert ValueRange.parse("0,30521") == ValueRange(0, 30521)
    assert ValueRange.parse("-1.5,2e3") == ValueRange(-1.5, 2000)
    assert ValueRange.parse("0,18446744073709551615").whole == (0, 2**64 - 1)
