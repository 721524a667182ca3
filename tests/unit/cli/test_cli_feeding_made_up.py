"""Inputs that nothing was given for: ``--zeros`` and ``--random``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fed_words import X, feed

from ascend_infer.cli.feeding.assignment import parse_shapes
from ascend_infer.cli.feeding.feed import make_feed
from ascend_infer.cli.feeding.options import FeedOptions
from ascend_infer.config import ModelConfig
from ascend_infer.errors import InvalidInputError, InvalidOptionError
from ascend_infer.onnx_file import ValueLimit
from ascend_infer.types import DataType, TensorSpec


class TestMadeUp:
    def test_zeros_fill_what_is_not_given(self) -> None:
        y = TensorSpec("y", DataType.INT64, (-1, 2))
        text = TensorSpec("t", DataType.BYTES, (-1, 1))
        late = TensorSpec("o", DataType.FP32, (1,), optional=True)
        found = feed("x=[[1, 2, 3, 4]]", X, y, text, late, fill="zeros")
        assert found["x"].any()
        assert (found["y"].tolist(), found["t"].tolist()) == ([[0, 0]], [[""]])
        assert "o" not in found

    def test_random_numbers_can_be_had_again(self) -> None:
        shapes = ["x=3x4"]
        first = feed([], fill="random", seed=7, shapes=shapes)["x"]
        assert first.shape == (3, 4)
        assert np.array_equal(first, feed([], fill="random", seed=7, shapes=shapes)["x"])
        assert not np.array_equal(first, feed([], fill="random", seed=8, shapes=shapes)["x"])

    def test_random_whole_numbers_are_those_that_the_model_takes(self) -> None:
        tensors = [TensorSpec(name, DataType.INT64, (-1, 200)) for name in ("ids", "flags", "attention_mask")]
        limits = {"ids": ValueLimit(1000, "a table of 1000 rows")}
        config = ModelConfig(name="m")
        made = make_feed(FeedOptions(fill="random", seed=1), tensors, config, "m", limits)
        assert made["ids"].min() >= 0
        assert 500 < made["ids"].max() < 1000
        assert set(made["flags"][0].tolist()) == {0, 1}
        assert feed([], TensorSpec("u", DataType.UINT8, (-1, 200)), fill="random")["u"].max() > 200
        ones = int(made["attention_mask"].sum())
        assert made["attention_mask"][0].tolist() == [1] * ones + [0] * (200 - ones)

    def test_random_text_is_letters(self) -> None:
        text = feed([], TensorSpec("t", DataType.BYTES, (-1, 1)), fill="random")["t"][0, 0]
        assert text.isalpha()

    @pytest.mark.parametrize("dtype", [dtype for dtype in DataType if dtype.config_name])
    def test_every_type(self, dtype: DataType) -> None:
        for fill in ("zeros", "random"):
            array = feed([], TensorSpec("x", dtype, (-1, 3)), fill=fill)["x"]
            assert (array.shape, array.dtype) == ((1, 3), dtype.numpy)

    def test_open_dimensions_are_said(self, capsys: Any) -> None:
        feed([], TensorSpec("x", DataType.FP32, (-1, -1)), fill="zeros")
        assert "taken as 1; --shape states others" in capsys.readouterr().err

    def test_shapes_are_checked(self) -> None:
        assert parse_shapes(["1x2"], [X], "m") == {"x": (1, 2)}
        assert parse_shapes(["x=1,2"], [X], "m") == {"x": (1, 2)}
        with pytest.raises(InvalidInputError, match="no input 'y'"):
            parse_shapes(["y=1"], [X], "m")
        for text in ("x=1x", "x=axb", "x=-1", "x=1.5"):
            with pytest.raises(InvalidOptionError, match="expected sizes such as"):
                parse_shapes([text], [X], "m")
