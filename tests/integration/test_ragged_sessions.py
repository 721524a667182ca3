"""Requests of unequal shapes in one batch, on the CPU and on the simulated card."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from onnx import TensorProto, helper

import ascend_infer as ai
from ascend_infer.errors import ConfigError, InvalidInputError, ModelExecutionError

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

#: Nothing goes before a preferred number of rows is there; no test waits as long.
LONG = 600_000_000
Array = np.ndarray[Any, Any]

CONFIG = """
max_batch_size: 8
input [ {{ name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] allow_ragged_batch: true }} ]
output [
  {{ name: "double" data_type: TYPE_FP32 dims: [ -1, 2 ] }},
  {{ name: "told" data_type: {told} dims: {dims} {more} }}
]
batch_input [
  {{ kind: {kind} target_name: "made" data_type: {dtype} source_input: "x" }}
  {count}
]
batch_output [ {{ kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: "double" source_input: "x" }} ]
{end}
"""
COUNT = ', { kind: BATCH_ELEMENT_COUNT target_name: "count" data_type: TYPE_INT32 source_input: "x" }'
KINDS = [
    "BATCH_ELEMENT_COUNT",
    "BATCH_ACCUMULATED_ELEMENT_COUNT",
    "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO",
    "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE",
    "BATCH_ITEM_SHAPE",
    "BATCH_ITEM_SHAPE_FLATTEN",
]
Open = Callable[..., ai.Session]


def config_of(kind: str, dtype: str = "TYPE_INT32", end: str = "") -> str:
    shaped = kind.startswith("BATCH_ITEM_SHAPE")
    summed = kind.startswith("BATCH_ACCUMULATED")
    return CONFIG.format(
        kind=kind,
        dtype=dtype,
        told="TYPE_FP32" if summed else dtype,
        dims="[ 2 ]" if shaped else "[ 1 ]",
        more="" if shaped else "reshape { shape: [ ] }",
        count=COUNT if kind == "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE" else "",
        end=end,
    )


@pytest.fixture
def opened(tmp_path: Path, device: str) -> Iterator[Open]:
    sessions: list[ai.Session] = []

    def open_model(
        kind: str, preferred: int = 3, *, code: int = TensorProto.INT32, end: str = ""
    ) -> ai.Session:
        dtype = "TYPE_INT32" if code == TensorProto.INT32 else "TYPE_FP32"
        folder = made.model_directory(
            tmp_path, "ragged", made.ragged(kind, code), config_of(kind, dtype, end)
        )
        batching = ai.Batching(preferred_batch_size=[preferred], max_queue_delay_microseconds=LONG)
        sessions.append(ai.Session(folder, device=device, batching=batching))
        return sessions[-1]

    yield open_model
    for session in sessions:
        session.close(cancel_pending=True)


def parts(*lengths: int, rows: int = 1) -> list[Array]:
    generator = np.random.default_rng(len(lengths))
    return [generator.integers(1, 9, (rows, n, 2)).astype(np.float32) for n in lengths]


def told_of(kind: str, given: list[Array]) -> list[Array]:
    """What the model says of each request of one row, as [1, ...]."""
    if kind.startswith("BATCH_ACCUMULATED"):
        return [part.sum(keepdims=True).reshape(1, 1) for part in given]
    if kind.startswith("BATCH_ITEM_SHAPE"):
        return [np.array([part.shape[1:]]) for part in given]
    if kind == "BATCH_ELEMENT_COUNT":
        return [np.array([[part.size]]) for part in given]
    return [np.array([[max(part.size for part in given)]])] * len(given)


def results(session: ai.Session, given: list[Array]) -> list[ai.InferResult]:
    return [future.result(60) for future in [session.submit({"x": part}) for part in given]]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        *((kind, TensorProto.INT32) for kind in KINDS),
        ("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", TensorProto.FLOAT),
        ("BATCH_ITEM_SHAPE", TensorProto.FLOAT),
    ],
)
def test_unequal_requests_share_a_batch(opened: Open, kind: str, code: int) -> None:
    session = opened(kind, code=code)
    assert [spec.name for spec in session.inputs] == ["x"]
    given = parts(3, 1, 5)
    got = results(session, given)
    for result, part, told in zip(got, given, told_of(kind, given), strict=True):
        assert result.timing.batch_rows == 3
        assert np.array_equal(result["double"], 2 * part)
        assert np.array_equal(result["told"], told)
    assert session.statistics()["model_stats"][0]["execution_count"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_by_itself_is_a_batch_of_one(opened: Open, kind: str) -> None:
    session = opened(kind, preferred=1)
    [part] = parts(4)
    for result in (
        session.infer({"x": part}),
        session.infer(part),
        session.infer(part[0], batched=False),
        session.submit(part).result(60),
        session.infer_many([part])[0],
        asyncio.run(_awaited(session, part)),
    ):
        single = result["double"].ndim == 2
        assert np.array_equal(result["double"], 2 * (part[0] if single else part))
        assert np.array_equal(np.reshape(result["told"], -1), told_of(kind, [part])[0].reshape(-1))


async def _awaited(session: ai.Session, part: Array) -> ai.InferResult:
    return await session.ainfer(part)


def test_rows_of_a_request_have_a_shape_each(opened: Open) -> None:
    session = opened("BATCH_ITEM_SHAPE", preferred=5)
    given = [*parts(3, rows=2), *parts(1, rows=1), *parts(4, rows=2)]
    got = results(session, given)
    assert [result["told"].tolist() for result in got] == [[[3, 2]] * 2, [[1, 2]], [[4, 2]] * 2]
    assert all(np.array_equal(r["double"], 2 * part) for r, part in zip(got, given, strict=True))
    assert got[0].timing.batch_rows == 5


def test_requests_may_want_different_outputs(opened: Open) -> None:
    session = opened("BATCH_ACCUMULATED_ELEMENT_COUNT")
    given = parts(2, 3, 4)
    wanted = [["told"], ["double", "told"], ["double"]]
    futures = [session.submit({"x": part}, names) for part, names in zip(given, wanted, strict=True)]
    got = [future.result(60) for future in futures]
    assert [list(result) for result in got] == wanted
    assert got[0]["told"].tolist() == [[given[0].sum()]]
    assert np.array_equal(got[1]["double"], 2 * given[1])
    assert np.array_equal(got[2]["double"], 2 * given[2])


def test_an_array_of_the_callers_takes_a_cut_output(opened: Open) -> None:
    session = opened("BATCH_ELEMENT_COUNT", preferred=1)
    [part] = parts(4)
    out = np.zeros_like(part)
    assert session.infer(part, out={"double": out})["double"] is out
    assert np.array_equal(out, 2 * part)
    with pytest.raises(InvalidInputError, match="has shape"):
        session.infer(part, out={"double": np.zeros((1, 3, 2), np.float32)})


def test_many_lengths_stream_in_order(opened: Open) -> None:
    session = opened("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", preferred=1)
    given = parts(*(1 + n % 7 for n in range(40)))
    for result, part in zip(session.map(given), given, strict=True):
        assert np.array_equal(result["double"], 2 * part)
        assert result["told"].tolist() == [[part.sum()]]


def test_warm_up_goes_the_same_way(opened: Open) -> None:
    end = """model_warmup {
  name: "w" batch_size: 3
  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4, 2 ] zero_data: true } }
}"""
    session = opened("BATCH_ACCUMULATED_ELEMENT_COUNT", end=end)
    assert session.statistics()["model_stats"][0]["execution_count"] == 0


def test_wrong_counts_fail_their_own_requests_with_the_cause(
    opened: Open, tmp_path: Path, device: str
) -> None:
    # One entry a request, where the requests have two rows.
    session = opened("BATCH_ELEMENT_COUNT", preferred=4)
    futures = [session.submit(part) for part in parts(2, 3, rows=2)]
    for future in futures:
        with pytest.raises(
            ModelExecutionError, match=r"'told' came back with shape \[1\] for a batch of 2 rows"
        ):
            future.result(60)
    config = config_of("BATCH_ELEMENT_COUNT").replace(
        '"double" data_type: TYPE_FP32 dims: [ -1, 2 ]', '"double" data_type: TYPE_FP32 dims: [ -1, 3 ]'
    )
    folder = made.model_directory(tmp_path / "odd", "odd", made.ragged("BATCH_ELEMENT_COUNT"), config)
    with ai.Session(folder, device=device, batching=False) as odd:
        with pytest.raises(ModelExecutionError, match=r"'double' came back with 8 elements .* expected 12"):
            odd.infer(parts(4)[0])
        with pytest.raises(InvalidInputError, match="'x'"):
            odd.infer({"made": np.ones(1, np.int32)})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'target_name: "made"',
            'target_name: "mode"',
            "unknown target input name 'mode'.*did you mean 'made'",
        ),
        (
            "data_type: TYPE_INT32 source",
            "data_type: TYPE_FP32 source",
            "another data type in the model file",
        ),
        ("BATCH_ELEMENT_COUNT", "BATCH_ITEM_SHAPE", "makes a tensor of 2 dimensions"),
        ('source_input: "x" }\n  ', 'source_input: "z" }\n  ', "unknown source input name 'z'"),
        ("dims: [ -1, 2 ] }", "dims: [ -1, 2, -1 ] }", "open dimension 2"),
        ('target_name: "double"', 'target_name: "dooble"', "unknown target output name 'dooble'"),
        (
            "input [ {",
            'input [ { name: "made" data_type: TYPE_INT32 dims: [ 1 ] }, {',
            "input of requests too",
        ),
    ],
    ids=["target", "dtype", "rank", "source", "dims", "output", "asked"],
)
def test_what_cannot_be_made_is_said_at_load(tmp_path: Path, old: str, new: str, message: str) -> None:
    config = config_of("BATCH_ELEMENT_COUNT")
    assert old in config
    model = made.ragged("BATCH_ELEMENT_COUNT")
    folder = made.model_directory(tmp_path, "wrong", model, config.replace(old, new, 1))
    with pytest.raises(ConfigError, match=f"(?s){message}"):
        ai.Session(folder, device="cpu")


def test_a_ragged_input_has_to_be_flat_in_the_model(tmp_path: Path) -> None:
    config = 'max_batch_size: 4 input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] allow_ragged_batch: true }'
    folder = made.model_directory(tmp_path, "square", made.identity(), config)
    with pytest.raises(ConfigError, match="one flat array of any length"):
        ai.Session(folder, device="cpu")


def test_dims_may_be_left_out(tmp_path: Path, device: str) -> None:
    config = """
max_batch_size: 4
input { name: "x" allow_ragged_batch: true }
batch_input { kind: BATCH_ELEMENT_COUNT target_name: "made" data_type: TYPE_INT32 source_input: "x" }
batch_output { target_name: "double" source_input: "x" }
"""
    folder = made.model_directory(tmp_path, "short", made.ragged("BATCH_ELEMENT_COUNT"), config)
    with ai.Session(folder, device=device) as session:
        assert [str(spec) for spec in session.inputs] == ["x: FP32[-1, -1]"]
        result = session.infer(np.ones((1, 3), np.float32))
        assert result["double"].tolist() == [[2, 2, 2]]


def test_shapes_of_inputs_that_are_rows(tmp_path: Path, device: str) -> None:
    model = made.model_of(
        [helper.make_node("Identity", ["shape"], ["y"]), helper.make_node("Identity", ["x"], ["z"])],
        [made.value("x", TensorProto.FLOAT, ["n", 4]), made.value("shape", TensorProto.INT32, ["n", 1])],
        [made.value("y", TensorProto.INT32, ["n", 1]), made.value("z", TensorProto.FLOAT, ["n", 4])],
    )
    config = """
max_batch_size: 4
input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
batch_input { kind: BATCH_ITEM_SHAPE target_name: "shape" data_type: TYPE_INT32 source_input: "x" }
"""
    folder = made.model_directory(tmp_path, "rows", model, config)
    with ai.Session(folder, device=device) as session:
        # Compiled for batches on the card: such a model is padded by rows as any other.
        assert session.infer(np.ones((3, 4), np.float32))["y"].tolist() == [[4], [4], [4]]


def test_requests_with_other_optional_inputs_do_not_share_a_batch(tmp_path: Path) -> None:
    model = made.model_of(
        [helper.make_node("Add", ["x", "bias"], ["y"])],
        [made.value("x", TensorProto.FLOAT, ["n", 2]), made.value("bias", TensorProto.FLOAT, ["m", 2])],
        [made.value("y", TensorProto.FLOAT, ["n", 2])],
        {"bias": np.zeros((1, 2), np.float32)},
    )
    config = """
max_batch_size: 8
input [
  { name: "x" data_type: TYPE_FP32 dims: [ 2 ] },
  { name: "bias" data_type: TYPE_FP32 dims: [ 2 ] optional: true }
]
"""
    folder = made.model_directory(tmp_path, "optional", model, config)
    one = np.ones((1, 2), np.float32)
    bare, both = {"x": one}, {"x": one, "bias": one}
    batching = ai.Batching(preferred_batch_size=[2], max_queue_delay_microseconds=LONG)
    with ai.Session(folder, device="cpu", batching=batching) as session:
        # The two pairs go when they are full, those between when the next cannot join; the last when it is two.
        sent = [bare, bare, both, bare, both, both]
        got = [future.result(60) for future in [session.submit(inputs) for inputs in sent]]
    assert [result.timing.batch_rows for result in got] == [2, 2, 1, 1, 2, 2]
    assert [result["y"][0, 0] for result in got] == [1, 1, 2, 1, 2, 2]


def test_a_source_is_never_optional(tmp_path: Path, device: str) -> None:
    model = made.ragged("BATCH_ELEMENT_COUNT")
    model.graph.initializer.append(helper.make_tensor("x", TensorProto.FLOAT, [2], [1.0, 2.0]))
    config = config_of("BATCH_ELEMENT_COUNT").replace(
        "allow_ragged_batch", "optional: true allow_ragged_batch"
    )
    folder = made.model_directory(tmp_path, "source", model, config)
    with (
        ai.Session(folder, device="cpu") as session,
        pytest.raises(InvalidInputError, match="misses input 'x'"),
    ):
        session.infer({})
