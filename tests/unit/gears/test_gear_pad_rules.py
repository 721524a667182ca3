"""Reading ``gear_pad`` and ``gear_crop`` against a model."""

from __future__ import annotations

import pytest
from gear_models import batch_gears, text_gears, width_gears
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.errors import ConfigError
from ascend_infer.gears import CropRule, PadRules
from ascend_infer.gears.pad_rules import parse_fill
from ascend_infer.types import DataType


def test_fills_and_crops_are_read_by_position() -> None:
    rules = PadRules.from_parameters(
        {
            "gear_pad.mask": "-1",
            "gear_crop.states": "1 of mask:1 floor",
            "gear_crop.pooled": "none",
            "else": "x",
        },
        text_gears([8, 16]),
    )
    assert rules.fills == {1: -1}
    assert rules.crops == {0: (CropRule(1, 1, 1, "floor"),), 1: ()}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"gear_pad.y": "0"}, "no such input; it has 'x'"),
        ({"gear_crop.q": "1"}, "no such output; it has 'p'"),
        ({"gear_pad.x": "zero"}, "expected a number"),
        ({"gear_pad.x": ""}, "expected a number"),
        ({"gear_pad.x": "1e39"}, "3.40282e+38"),
        ({"gear_pad.x": "0", "gear_crop.p": "one"}, "expected an axis"),
        ({"gear_pad.x": "0", "gear_crop.p": "-1"}, "expected an axis"),
        ({"gear_pad.x": "0", "gear_crop.p": "0"}, "axis 0 holds the rows"),
        ({"gear_pad.x": "0", "gear_crop.p": "3"}, "3 axes, 0 to 2"),
        ({"gear_pad.x": "0", "gear_crop.p": "1;1"}, "twice"),
        ({"gear_pad.x": "0", "gear_crop.p": "1 of z:1"}, "no input 'z'"),
        ({"gear_pad.x": "0", "gear_crop.p": "1 of x:9"}, "has 4 axes"),
        ({"gear_pad.x": "0"}, "what to cut off this output"),
    ],
)
def test_what_does_not_fit_the_model_is_named(parameters: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        PadRules.from_parameters(parameters, width_gears([(1, 160), (1, 320)]))
    assert words in str(caught.value)
    assert caught.value.field is not None
    assert caught.value.field.startswith('parameters["gear_')


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        PadRules.from_parameters({"gear_pad.a": "0", "gear_crop.b": "1"}, width_gears([(1, 160)]))
    assert len(caught.value.diagnostics) == 2


def test_rows_need_no_permission() -> None:
    with pytest.raises(ConfigError, match="rows, which are padded anyway"):
        PadRules.from_parameters({"gear_pad.x": "0"}, batch_gears([1, 2]))


def test_unknown_output_shapes_need_a_crop() -> None:
    sizes = width_gears([(1, 160), (1, 320)], known=False)
    with pytest.raises(ConfigError, match="what to cut off"):
        PadRules.from_parameters({"gear_pad.x": "0"}, sizes)
    assert PadRules.from_parameters({"gear_pad.x": "0", "gear_crop.p": "2"}, sizes).crops[0][0].axis == 2


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("0", DataType.FP32, 0.0), ("-inf", DataType.FP16, float("-inf")), (" 1.5 ", DataType.BF16, 1.5),
        ("0.0", DataType.INT64, 0), ("-128", DataType.INT8, -128), ("255", DataType.UINT8, 255),
        ("18446744073709551615", DataType.UINT64, 2**64 - 1), ("true", DataType.BOOL, True),
        ("0", DataType.BOOL, False),
    ],
)  # fmt: skip
def test_fills_are_of_the_inputs_type(text: str, dtype: DataType, value: float) -> None:
    found = parse_fill(text, dtype)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("0.5", DataType.INT32), ("128", DataType.INT8), ("-1", DataType.UINT8), ("nan", DataType.INT8),
        ("1e400", DataType.INT64), ("2", DataType.BOOL), ("65505", DataType.FP16), ("x", DataType.FP64),
        ("0", DataType.BYTES), ("9" * 5000, DataType.INT64), ("1_0", DataType.UINT8), ("", DataType.INT8),
    ],
)  # fmt: skip
def test_fills_that_do_not_fit_are_refused(text: str, dtype: DataType) -> None:
    with pytest.raises(ValueError, match=r"expected|cannot be padded"):
        parse_fill(text, dtype)


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_text_is_worse_than_an_error(fill: str, crop: str) -> None:
    try:
        rules = PadRules.from_parameters(
            {"gear_pad.x": fill, "gear_crop.p": crop}, width_gears([(1, 160), (1, 320)])
        )
    except ConfigError as error:
        assert error.diagnostics
    else:
        assert isinstance(rules.fills[0], float)
