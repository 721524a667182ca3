"""Inputs and outputs that the configuration reshapes, in batches of several requests: on the CPU and on the card."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_models as made
import pytest
from held_model import LIMIT, Caller
from onnx import TensorProto, helper

import ascend_infer as ai

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

Array = np.ndarray[Any, Any]

# Nothing goes before a preferred number of rows is there; no test waits as long.
CONFIG = """
max_batch_size: 8
input [
  { name: "x" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: [ 4 ] } },
  { name: "factor" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } }
]
output [
  { name: "scaled" data_type: TYPE_FP32 dims: [ 1, 2, 2 ] reshape { shape: [ 4 ] } },
  { name: "total" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } },
  { name: "plain" data_type: TYPE_FP32 dims: [ 4 ] }
]
dynamic_batching { preferred_batch_size: [ 6 ] max_queue_delay_microseconds: 3600000000 }
"""

VARIABLE = """
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 1, -1, 2 ] reshape { shape: [ -1, 2 ] } } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 2, -1, 1 ] reshape { shape: [ 2, -1 ] } } ]
dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 3600000000 }
"""


def model() -> onnx.ModelProto:
    """Return scaled = x * factor, total = the sum of x, plain = -x; a row of x is 4 numbers, one of factor a scalar."""
    return made.model_of(
        [
            helper.make_node("Unsqueeze", ["factor", "one"], ["column"]),
            helper.make_node("Mul", ["x", "column"], ["scaled"]),
            helper.make_node("ReduceSum", ["x", "one"], ["total"], keepdims=0),
            helper.make_node("Neg", ["x"], ["plain"]),
        ],
        [made.value("x", TensorProto.FLOAT, ["n", 4]), made.value("factor", TensorProto.FLOAT, ["n"])],
        [
            made.value("scaled", TensorProto.FLOAT, ["n", 4]),
            made.value("total", TensorProto.FLOAT, ["n"]),
            made.value("plain", TensorProto.FLOAT, ["n", 4]),
        ],
        {"one": np.array([1], np.int64)},
    )


def inputs(rows: int, base: int) -> dict[str, Array]:
    """Return a request of which no two numbers are the same, and none is another request's."""
    x = np.arange(rows * 4, dtype=np.float32).reshape(rows, 2, 2) + 100 * base
    return {"x": x, "factor": np.arange(rows, dtype=np.float32).reshape(rows, 1) + base}


def single(given: dict[str, Array]) -> dict[str, Array]:
    return {name: array[0] for name, array in given.items()}


def expected(given: dict[str, Array]) -> dict[str, Array]:
    x, factor = given["x"], given["factor"]
    rows = len(x)
    return {
        "scaled": (x * factor[:, :, None]).reshape(rows, 1, 2, 2),
        "total": x.sum((1, 2)).reshape(rows, 1),
        "plain": -x.reshape(rows, 4),
    }


def same(result: Any, wanted: dict[str, Array], names: tuple[str, ...]) -> None:
    assert tuple(result) == names
    for name in names:
        assert result[name].shape == wanted[name].shape, name
        assert np.array_equal(result[name], wanted[name]), name


ALL = ("scaled", "total", "plain")


def test_rows_and_shapes_come_back_to_whom_they_belong(device: str, tmp_path: Path) -> None:
    folder = made.model_directory(tmp_path, "net", model(), CONFIG)
    with ai.Session(folder, device=device) as session:
        for first in range(1, 30, 10):
            given = [inputs(rows, first + place) for place, rows in enumerate((2, 1, 3))]
            futures = [session.submit(one) for one in given]
            for one, future in zip(given, futures, strict=True):
                result = future.result(LIMIT)
                assert result.timing.batch_rows == 6
                same(result, expected(one), ALL)
        [stats] = session.statistics()["model_stats"]
        assert [(batch["batch_size"], batch["compute_infer"]["count"]) for batch in stats["batch_stats"]] == [
            (6, 3)
        ]


def test_chosen_outputs_single_samples_and_own_arrays_in_one_batch(device: str, tmp_path: Path) -> None:
    folder = made.model_directory(tmp_path, "net", model(), CONFIG)
    with ai.Session(folder, device=device) as session:
        for first in range(1, 30, 10):
            given = [inputs(rows, first + place) for place, rows in enumerate((1, 2, 1, 2))]
            wanted = [expected(one) for one in given]
            alone = session.submit(single(given[0]), batched=False)
            some = session.submit(given[1], ["plain", "total"])
            one = session.submit(single(given[2]), ["total", "scaled"], batched=False)
            out = {name: np.full_like(wanted[3][name], -1) for name in ("scaled", "plain")}
            result = session.infer(given[3], ["scaled", "plain"], out=out)
            same(alone.result(LIMIT), single(wanted[0]), ALL)
            same(some.result(LIMIT), wanted[1], ("plain", "total"))
            same(one.result(LIMIT), single(wanted[2]), ("total", "scaled"))
            same(result, wanted[3], ("scaled", "plain"))
            for name, array in out.items():
                assert result[name] is array
            assert {r.timing.batch_rows for r in (alone.result(), some.result(), one.result(), result)} == {6}


def test_the_other_ways_in(device: str, tmp_path: Path) -> None:
    folder = made.model_directory(tmp_path, "net", model(), CONFIG)
    given = [inputs(rows, place) for place, rows in enumerate((1, 2, 3), 1)]
    with ai.Session(folder, device=device) as session:

        async def together() -> list[Any]:
            return await asyncio.gather(*(session.ainfer(one) for one in given))

        for result, one in zip(asyncio.run(together()), given, strict=True):
            assert result.timing.batch_rows == 6
            same(result, expected(one), ALL)
        for result, one in zip(session.map(given), given, strict=True):
            assert result.timing.batch_rows == 6
            same(result, expected(one), ALL)
        callers = [Caller(lambda one=one: session.infer(one)) for one in given]
        for caller, one in zip(callers, given, strict=True):
            result = caller.outcome()
            assert result.timing.batch_rows == 6
            same(result, expected(one), ALL)


def test_open_dims_close_a_batch_and_come_back(device: str, tmp_path: Path) -> None:
    """A row's shape goes from [1, k, 2] to [k, 2], turned round to [2, k], and out as [2, k, 1]."""
    net = made.model_of(
        [helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 1])],
        [made.value("x", TensorProto.FLOAT, ["n", "k", 2])],
        [made.value("y", TensorProto.FLOAT, ["n", 2, "k"])],
    )
    folder = made.model_directory(tmp_path, "net", net, VARIABLE)
    given = [
        np.arange(rows * k * 2, dtype=np.float32).reshape(rows, 1, k, 2) + 100 * place
        for place, (rows, k) in enumerate([(1, 3), (1, 3), (1, 5), (3, 5), (2, 1), (2, 1)])
    ]
    with ai.Session(folder, device=device) as session:
        futures = [session.submit(x) for x in given]
        for x, future, batch in zip(given, futures, (2, 2, 4, 4, 4, 4), strict=True):
            result = future.result(LIMIT)
            rows, _, k, _ = x.shape
            assert result["y"].shape == (rows, 2, k, 1)
            assert np.array_equal(result["y"][..., 0], x[:, 0].transpose(0, 2, 1))
            assert result.timing.batch_rows == batch
