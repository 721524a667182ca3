from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascend_infer.errors import InvalidInputError
from ascend_infer.signature import InputRule, OutputRule, Prepared, Signature
from ascend_infer.types import DataType


def signature(max_batch_size: int = 8, **changes: Any) -> Signature:
    inputs = changes.pop("inputs", None) or [
        InputRule("images", "in:0", DataType.FP32, (3, 4, 5)),
        InputRule("ids", "in:1", DataType.INT64, (-1,)),
    ]
    outputs = changes.pop("outputs", None) or [
        OutputRule("prob", "out/p", DataType.FP32, (10,)),
        OutputRule("box", "out/b", DataType.FP32, (-1, 4)),
    ]
    return Signature("net", inputs, outputs, max_batch_size, **changes)


def images(rows: int = 2) -> np.ndarray[Any, Any]:
    return np.ones((rows, 3, 4, 5), np.float32)


def ids(rows: int = 2, length: int = 7) -> np.ndarray[Any, Any]:
    return np.ones((rows, length), np.int64)


def prepare(what: Signature, inputs: Any, outputs: Any = None, batched: bool = True) -> Prepared:
    return what.prepare(inputs, outputs, "no", batched)


def test_inputs_go_by_the_models_names_and_uncopied() -> None:
    given = {"images": images(), "ids": ids()}
    prepared = prepare(signature(), given)
    assert list(prepared.feed) == ["in:0", "in:1"]
    assert prepared.feed["in:0"] is given["images"]
    assert prepared.names == ("out/p", "out/b")
    assert (prepared.batch, prepared.single) == (2, False)


def test_public_specs_show_the_batch() -> None:
    assert [spec.shape for spec in signature().inputs] == [(-1, 3, 4, 5), (-1, -1)]
    assert [spec.shape for spec in signature(0).outputs] == [(10,), (-1, 4)]


def refusal(what: Signature, inputs: Any, **options: Any) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        prepare(what, inputs, **options)
    return caught.value


def test_unknown_and_missing_names() -> None:
    error = refusal(signature(), {"image": images(), "ids": ids()})
    assert "did you mean 'images'?" in str(error)
    error = refusal(signature(), {"images": images()})
    assert error.input == "ids"
    assert "INT64[any, any]" in str(error)
    error = refusal(signature(), {})
    assert "'images'" in str(error)
    assert "'ids'" in str(error)
    assert "2 inputs" in str(refusal(signature(), images()))
    assert "no output 'porb' (did you mean 'prob'?)" in str(
        refusal(signature(), {"images": images(), "ids": ids()}, outputs=["porb"])
    )


def test_optional_inputs_may_be_left_out_and_required_ones_may_not() -> None:
    what = signature(
        inputs=[
            InputRule("A", "A", DataType.FP32, (4,)),
            InputRule("B", "B", DataType.FP32, (4,), optional=True),
        ]
    )
    row = np.zeros((1, 4), np.float32)
    assert list(prepare(what, {"A": row}).feed) == ["A"]
    assert list(prepare(what, {"A": row, "B": row}).feed) == ["A", "B"]
    # Triton counts only, lets this pass and the model crashes.
    assert refusal(what, {"B": row}).input == "A"


def test_batches() -> None:
    assert "at most max_batch_size 8" in str(refusal(signature(), {"images": images(9), "ids": ids(9)}))
    assert "batch of 0" in str(refusal(signature(), {"images": images(0), "ids": ids(0)}))
    error = refusal(signature(), {"images": images(2), "ids": ids(3)})
    assert error.input == "ids"
    assert "batch of 3 where another input of the request has 2" in str(error)
    assert "scalar" in str(refusal(signature(), {"images": np.float32(1), "ids": ids()}))
    assert "write 9" in str(refusal(signature(limit_hint="; write 9"), {"images": images(9), "ids": ids(9)}))


@pytest.mark.parametrize("casting", ["no", "same_kind"])
def test_what_does_not_fit_is_refused_before_it_is_copied(casting: Any) -> None:
    what = signature()
    for given in (np.float32(3), np.float64(3) if casting == "same_kind" else np.float32(3)):
        huge = np.broadcast_to(given, (2**40, 3, 4, 5))  # 240 TiB, were it copied
        with pytest.raises(InvalidInputError, match="got a batch of 1099511627776, expected at most"):
            what.prepare({"images": huge, "ids": ids()}, None, casting, True)
        with pytest.raises(InvalidInputError, match="shape"):
            what.prepare({"images": huge[:, :, 0], "ids": ids()}, None, casting, True)
        with pytest.raises(InvalidInputError, match="1099511627776"):
            what.prepare({"images": huge, "ids": ids()}, None, casting, False)


def test_one_sample_without_its_batch() -> None:
    sample = {"images": images()[0], "ids": ids()[0]}
    error = refusal(signature(), {"images": images()[0], "ids": ids()})
    assert "array[None]" in str(error)
    prepared = prepare(signature(), sample, batched=False)
    assert prepared.single
    assert prepared.feed["in:0"].shape == (1, 3, 4, 5)
    named = signature().finish(prepared, [np.zeros((1, 10)), np.zeros((1, 6, 4))])
    assert [array.shape for array in named.values()] == [(10,), (6, 4)]
    assert "leave out batched=False" in str(
        refusal(signature(), {"images": images(), "ids": ids()}, batched=False)
    )


def test_shapes_show_both() -> None:
    error = refusal(signature(), {"images": np.ones((2, 3, 4, 6), np.float32), "ids": ids()})
    assert error.got == "shape [2, 3, 4, 6]"
    assert error.expected == "shape [batch, 3, 4, 5]"
    error = refusal(signature(), {"images": np.ones((2, 4, 5, 3), np.float32), "ids": ids()})
    assert "height, width, channels" in str(error)
    what = signature(inputs=[InputRule("x", "x", DataType.FP32, (4, 5, 3))])
    assert "channels first" in str(refusal(what, {"x": np.ones((2, 3, 4, 5), np.float32)}))


def test_dims_without_batch_explain_both_readings() -> None:
    what = signature(0, inputs=[InputRule("INPUT__0", "x", DataType.FP32, (10,))])
    text = str(refusal(what, {"INPUT__0": np.ones((2, 10), np.float32)}))
    assert "set max_batch_size to 2" in text
    assert "dims: [2, 10]" in text


def test_a_bare_array_where_there_is_one_input() -> None:
    what = signature(inputs=[InputRule("x", "x", DataType.FP32, (4,))])
    value = np.ones((2, 4), np.float32)
    assert prepare(what, value).feed["x"] is value
    assert prepare(what, [[1, 2, 3, 4]]).feed["x"].tolist() == [[1, 2, 3, 4]]


def test_reshape_changes_what_the_model_sees_and_gives_back() -> None:
    what = Signature(
        "net",
        [InputRule("x", "x", DataType.FP32, (2, -1, 6), reshape=(-1, 12))],
        [OutputRule("y", "y", DataType.FP32, (3, -1), reshape=(-1, 3, 1))],
        4,
    )
    prepared = prepare(what, np.arange(60, dtype=np.float32).reshape(1, 2, 5, 6))
    assert prepared.feed["x"].shape == (1, 5, 12)
    assert what.finish(prepared, [np.zeros((1, 7, 3, 1))])["y"].shape == (1, 3, 7)


@pytest.mark.parametrize("value", [np.array(3, np.int64), np.array([3], np.int64)])
def test_a_scalar_input_may_come_as_a_scalar(value: Any) -> None:
    what = signature(0, inputs=[InputRule("sr", "sr", DataType.INT64, (1,), reshape=())])
    assert what.inputs[0].shape == ()
    assert prepare(what, {"sr": value}).feed["sr"].shape == ()


def test_any_rank() -> None:
    what = signature(0, inputs=[InputRule("x", "x", DataType.FP32, (-2,))])
    for shape in ((), (2,), (2, 3, 4)):
        assert prepare(what, {"x": np.zeros(shape, np.float32)}).feed["x"].shape == shape


def test_outputs_are_chosen_in_the_order_asked_for() -> None:
    given = {"images": images(), "ids": ids()}
    assert prepare(signature(), given, ["box", "prob"]).names == ("out/b", "out/p")
    assert prepare(signature(), given, "prob").names == ("out/p",)
    assert prepare(signature(), given, iter(["box"])).names == ("out/b",)


@pytest.mark.parametrize("wrong", [[], (), 0, False])
def test_a_choice_of_no_outputs_is_refused(wrong: Any) -> None:
    error = refusal(signature(), {"images": images(), "ids": ids()}, outputs=wrong)
    assert str(error) == (
        f"model 'net', outputs: got {wrong!r}, expected a list of output names, or None for all outputs"
    )


def test_out_arrays() -> None:
    what = signature()
    prepared = prepare(what, {"images": images(), "ids": ids()})
    good = np.empty((2, 10), np.float32)
    assert what.check_out({"prob": good}, prepared)["prob"] is good
    assert what.targets({"prob": good}, prepared)["out/p"] is good
    bad: list[tuple[Any, str]] = [
        (np.empty((2, 10)), "float64"),
        (np.empty((2, 11), np.float32), r"\[2, 10\]"),
        (np.empty((3, 10), np.float32), r"\[2, 10\]"),
        (np.empty((10, 2), np.float32).T, "non-contiguous"),
        ([0.0], "list"),
    ]
    for array, text in bad:
        with pytest.raises(InvalidInputError, match=text):
            what.check_out({"prob": array}, prepared)
    good.flags.writeable = False
    with pytest.raises(InvalidInputError, match="read-only"):
        what.check_out({"prob": good}, prepared)
    with pytest.raises(InvalidInputError, match="no output 'porb'"):
        what.check_out({"porb": good}, prepared)
    one = prepare(what, {"images": images()[0], "ids": ids()[0]}, batched=False)
    row = np.empty(10, np.float32)
    assert what.check_out({"prob": row}, one)["prob"] is row
    assert what.targets({"prob": row}, one)["out/p"].shape == (1, 10)
