"""Batches of unequal requests put together and cut again, on arrays alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ascend_infer.config.tensor_config import BatchInputKind
from ascend_infer.errors import ModelExecutionError
from ascend_infer.scheduling.ragged import BatchAssembly, MadeInput, ScatteredOutput
from ascend_infer.types import DataType

Array = np.ndarray[Any, Any]


@dataclass
class Placed:
    arrays: list[Any]
    names: tuple[str, ...] = ("y",)
    rows: int = 1


def made(kind: str, dtype: DataType, *shapes: tuple[int, ...], batched: bool = True) -> Array:
    entry = MadeInput(BatchInputKind[kind], dtype, ("m", "also"), "x")
    assembly = BatchAssembly("net", ("x",), frozenset(["x"]), (entry,), batched=batched)
    feed = assembly.gather([Placed([np.zeros(shape, np.float32)], rows=shape[0]) for shape in shapes]).feed
    assert feed["x"].shape == (sum(np.prod(shape, dtype=int) for shape in shapes),)
    assert feed["also"] is feed["m"]
    assert feed["m"].dtype == dtype.numpy
    result: Array = feed["m"]
    return result


@pytest.mark.parametrize("dtype", [DataType.INT32, DataType.FP32])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("BATCH_ELEMENT_COUNT", [6, 4]),
        ("BATCH_ACCUMULATED_ELEMENT_COUNT", [6, 10]),
        ("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", [0, 6, 10]),
        ("BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", [0] * 6),
        # The example of model_config.proto: a batch of two with [3, 1], and one with [2, 2].
        ("BATCH_ITEM_SHAPE", [[3, 1], [3, 1], [2, 2]]),
        ("BATCH_ITEM_SHAPE_FLATTEN", [3, 1, 3, 1, 2, 2]),
    ],
)
def test_every_kind(kind: str, expected: list[Any], dtype: DataType) -> None:
    assert made(kind, dtype, (2, 3, 1), (1, 2, 2)).tolist() == expected


def test_without_a_batch_a_request_is_one_item() -> None:
    assert made("BATCH_ITEM_SHAPE", DataType.INT32, (3, 2), batched=False).tolist() == [[3, 2]]


def test_an_empty_request_has_a_place_too() -> None:
    assert made("BATCH_ACCUMULATED_ELEMENT_COUNT", DataType.INT32, (1, 0), (1, 2), (1, 0)).tolist() == [
        0,
        2,
        2,
    ]


def test_counts_that_do_not_fit_are_said() -> None:
    entry = MadeInput(BatchInputKind.BATCH_ELEMENT_COUNT, DataType.INT32, ("m",), "x")
    assembly = BatchAssembly("net", ("x",), made=(entry,))
    huge = np.broadcast_to(np.zeros((), np.int8), (1, 2**31))
    with pytest.raises(ModelExecutionError, match="expected at most 2,147,483,647"):
        assembly.gather([Placed([huge])])


def test_inputs_left_out_are_left_out_and_text_is_laid_end_to_end() -> None:
    assembly = BatchAssembly("net", ("x", "z"), frozenset(["x"]))
    one, two = np.array([["a", "b"]], object), np.array([["c"]], object)
    feed = assembly.gather([Placed([one, None]), Placed([two, None])]).feed
    assert list(feed) == ["x"]
    assert feed["x"].tolist() == ["a", "b", "c"]


def scatter() -> BatchAssembly:
    outputs = {"y": ScatteredOutput("x", (-1, -1, 2))}
    return BatchAssembly("net", ("x",), frozenset(["x"]), scattered=outputs, titles={"y": "out"})


def test_outputs_are_cut_by_the_shape_of_an_input() -> None:
    requests = [
        Placed([np.zeros((1, 3), np.float32)], ("z", "y")),
        Placed([np.zeros((2, 1), np.float32)], ("y",), rows=2),
    ]
    batch = scatter().gather(requests)
    y, z = np.arange(10, dtype=np.float32), np.arange(3)[:, None]
    first, second = batch.answers(("y", "z"), [y, z])
    assert [array.tolist() for array in first] == [[[0]], [[[0, 1], [2, 3], [4, 5]]]]
    assert [array.tolist() for array in second] == [[[[6, 7]], [[8, 9]]]]
    assert not np.may_share_memory(first[1], y)  # small: a copy, which keeps nothing else alive


def test_large_parts_are_views_and_a_lone_request_has_its_own_array() -> None:
    sources = [Placed([np.zeros((1, n), np.float32)]) for n in (600, 3)]
    whole = np.zeros(1206, np.float32)
    [large], [small] = scatter().gather(sources).answers(("y",), [whole])
    assert np.may_share_memory(large, whole)
    assert not np.may_share_memory(small, whole)
    [[alone]] = scatter().gather(sources[1:]).answers(("y",), [whole[:6]])
    assert np.may_share_memory(alone, whole)


def test_wrong_counts_are_said_with_the_shapes() -> None:
    requests = [Placed([np.zeros((1, 3), np.float32)], ("y", "z")) for _ in range(2)]
    batch = scatter().gather(requests)
    with pytest.raises(
        ModelExecutionError, match=r"'out' came back with 5 elements .* expected 12: \[1, 3, 2\], \[1"
    ):
        batch.answers(("y", "z"), [np.zeros(5), np.zeros(2)])
    alone = scatter().gather(requests[:1])
    with pytest.raises(
        ModelExecutionError, match=r"with 1 element \(shape .* the batch's 1 request, by the shape of 'x'"
    ):
        alone.answers(("y",), [np.zeros(1)])
    with pytest.raises(ModelExecutionError, match=r"'z' came back with shape \[3\] for a batch of 2 rows"):
        batch.answers(("y", "z"), [np.zeros(12), np.zeros(3)])
