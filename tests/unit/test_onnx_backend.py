from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_models as made
import onnx_ways
import pytest
from onnx import TensorProto, helper

from ascend_infer import backends
from ascend_infer.backends.base import BackendOptions, Cancellation, LoadRequest
from ascend_infer.errors import (
    InvalidInputError,
    InvalidOptionError,
    ModelExecutionError,
    ModelFileError,
    ModelLoadError,
)
from ascend_infer.types import DataType

pytest.importorskip("onnxruntime")


@pytest.fixture(autouse=True, params=onnx_ways.WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    onnx_ways.take(request.param, monkeypatch)
    return str(request.param)


def load(model: onnx.ModelProto, tmp_path: Path, **options: Any) -> Any:
    path = made.write(model, tmp_path / "model.onnx")
    return backends.create("onnx").load(LoadRequest("net", path, BackendOptions(**options)))


def test_an_unknown_backend_is_named() -> None:
    with pytest.raises(InvalidOptionError, match="did you mean 'onnx'"):
        backends.create("onxx")


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_eight_bit_floats_pass_both_ways(tmp_path: Path, name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = DataType.from_numpy(getattr(ml_dtypes, name))
    assert dtype.onnx is not None
    model = made.model_of(
        [helper.make_node("Cast", ["x"], ["w"], to=1), helper.make_node("Cast", ["v"], ["y"], to=dtype.onnx)],
        [made.value("x", dtype.onnx, ["n"]), made.value("v", TensorProto.FLOAT, ["n"])],
        [made.value("w", TensorProto.FLOAT, ["n"]), made.value("y", dtype.onnx, ["n"])],
        opset=19,
        ir_version=9,
    )
    [run] = load(model, tmp_path).executables()
    wide = np.array([1.5, -2, 0, 0.25], np.float32)
    w, y = run.execute({"x": wide.astype(dtype.numpy), "v": wide}, ["w", "y"])
    assert np.array_equal(w, wide)
    assert y.dtype == dtype.numpy
    assert np.array_equal(y.astype(np.float32), wide)


def test_bfloat16_passes_both_ways(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    [run] = load(made.identity(TensorProto.BFLOAT16), tmp_path).executables()
    given = np.array([[1.5, -2, 0, 0.25]], ml_dtypes.bfloat16)
    [got] = run.execute({"x": given}, ["y"])
    assert got.dtype == given.dtype
    assert np.array_equal(got.astype(np.float32), given.astype(np.float32))
    [empty] = run.execute({"x": given[:0]}, ["y"])
    assert empty.shape == (0, 4)
    out = np.zeros_like(given)
    [same] = run.execute({"x": given}, ["y"], {"y": out})
    assert same is out
    assert np.array_equal(out.astype(np.float32), given.astype(np.float32))


NUMBERS = [d for d in DataType if d.triton and d not in (DataType.BYTES, DataType.BF16)]


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_every_number_type_passes(tmp_path: Path, dtype: DataType) -> None:
    assert dtype.onnx is not None
    [run] = load(made.identity(dtype.onnx), tmp_path).executables()
    given = np.array([[0, 1, 1, 0]], dtype.numpy)
    [got] = run.execute({"x": given}, ["y"])
    assert got.dtype == dtype.numpy
    assert np.array_equal(got, given)


def test_text_comes_back_as_bytes(tmp_path: Path) -> None:
    [run] = load(made.identity(TensorProto.STRING, ["n"]), tmp_path).executables()
    [got] = run.execute({"x": np.array(["ä", "a\0b", ""], object)}, ["y"])
    assert got.tolist() == ["ä".encode(), b"a\0b", b""]
    out = np.empty(3, object)
    [same] = run.execute({"x": np.array(["1", "2", "3"], object)}, ["y"], {"y": out})
    assert same is out
    assert out.tolist() == [b"1", b"2", b"3"]


def test_outputs_of_unknown_shape_are_copied_into_place(tmp_path: Path) -> None:
    [run] = load(made.identity(dims=("n", "m")), tmp_path).executables()
    given = np.ones((2, 3), np.float32)
    out = np.zeros((2, 3), np.float32)
    assert run.execute({"x": given}, ["y"], {"y": out})[0] is out
    assert out.all()
    with pytest.raises(InvalidInputError, match=r"shape \[2, 3\]"):
        run.execute({"x": given}, ["y"], {"y": np.zeros((2, 4), np.float32)})


def test_a_failing_model_is_named_without_source_lines(tmp_path: Path) -> None:
    [run] = load(made.failing_reshape(), tmp_path).executables()
    with pytest.raises(ModelExecutionError) as caught:
        run.execute({"x": np.ones(3, np.float32)}, ["y"])
    text = str(caught.value)
    assert "net" in text
    assert "Reshape" in text
    assert ".cc:" not in text
    assert "ONNXRuntimeError" not in text
    assert run.execute({"x": np.ones(4, np.float32)}, ["y"])[0].shape == (2, 2)


def test_a_stop_that_comes_first_counts() -> None:
    wish, called = Cancellation(), []
    wish.request()
    wish.arm(lambda: called.append(1))
    assert called == [1]
    wish = Cancellation()
    wish.arm(lambda: called.append(2))
    wish.disarm()
    wish.request()
    assert called == [1]


def test_declared_dims_that_are_dummies(tmp_path: Path) -> None:
    model = load(made.identity(dims=(10, 3, 32, 32)), tmp_path, relaxed=frozenset({"x"}))
    assert model.spec.inputs[0].shape == (-1,) * 4
    [run] = model.executables()
    assert run.execute({"x": np.ones((1, 3, 64, 48), np.float32)}, ["y"])[0].shape == (1, 3, 64, 48)


def test_ranks_the_file_leaves_open_are_inferred(tmp_path: Path) -> None:
    made_model = made.model_of(
        [helper.make_node("Identity", ["x"], ["y"])],
        [made.value("x", TensorProto.FLOAT, ["n", 4])],
        [made.value("y", TensorProto.FLOAT, None)],
    )
    assert load(made_model, tmp_path).spec.outputs[0].shape == (-1, 4)


def test_what_is_no_tensor_is_refused_by_name(tmp_path: Path) -> None:
    only = made.model_of(
        [helper.make_node("SequenceConstruct", ["x"], ["seq"])],
        [made.value("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_sequence_value_info("seq", TensorProto.FLOAT, None)],
    )
    with pytest.raises(ModelLoadError, match="'seq' is a sequence"):
        load(only, tmp_path)
    taken = made.model_of(
        [helper.make_node("SequenceLength", ["seq"], ["n"])],
        [helper.make_tensor_sequence_value_info("seq", TensorProto.FLOAT, None)],
        [made.value("n", TensorProto.INT64, [])],
    )
    with pytest.raises(ModelLoadError, match="input 'seq' is a sequence"):
        load(taken, tmp_path)


def test_complex_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match="COMPLEX64"):
        load(made.identity(TensorProto.COMPLEX64), tmp_path)


def test_missing_external_weights_are_named(tmp_path: Path) -> None:
    model = made.scale(2.0)
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    request = LoadRequest("net", path)
    assert backends.create("onnx").load(request).executables()
    (tmp_path / "w.bin").unlink()
    with pytest.raises(ModelLoadError, match=r"'w\.bin'"):
        backends.create("onnx").load(request)


def test_damaged_and_invalid_models_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    whole = made.add_sub().SerializeToString()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError):
        backends.create("onnx").load(LoadRequest("net", path))
    unknown = made.model_of(
        [helper.make_node("NoSuchOperator", ["x"], ["y"])],
        [made.value("x", TensorProto.FLOAT, [1])],
        [made.value("y", TensorProto.FLOAT, [1])],
    )
    with pytest.raises(ModelLoadError, match="NoSuchOperator"):
        load(unknown, tmp_path)
    with pytest.raises(ModelLoadError, match="opset 4000"):
        load(
            made.model_of([], [], [made.value("w", 1, [1])], {"w": np.ones(1, np.float32)}, opset=4000),
            tmp_path,
        )


def test_options_of_the_configuration(tmp_path: Path) -> None:
    model = load(
        made.identity(),
        tmp_path,
        parameters={
            "intra_op_thread_count": "3",
            "execution_mode": "1",
            "inter_op_thread_count": "2",
            "enable_mem_arena": "1",
            "enable_mem_pattern": "0",
            "session.intra_op.allow_spinning": "0",
            "memory.enable_memory_arena_shrinkage": "cpu:0",
        },
        graph_level=1,
    )
    assert model.details["threads"] == "3"
    [run] = model.executables()
    assert run.execute({"x": np.ones((1, 4), np.float32)}, ["y"])[0].all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"parameters": {"intra_op_thread_count": "many"}}, "intra_op_thread_count"),
        ({"parameters": {"execution_mode": "2"}}, "0 to 1"),
        ({"parameters": {"enable_mem_arena": "yes"}}, "enable_mem_arena"),
        ({"graph_level": 7}, "graph.level"),
        ({"accelerators": [("opnvino", {})]}, "opnvino"),
        ({"accelerators": [("cuda", {})]}, "CUDAExecutionProvider.*not in the installed"),
        ({"providers": ["NoExecutionProvider"]}, "NoExecutionProvider"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ModelLoadError, match=f"model 'net': .*{text}"):
        load(made.identity(), tmp_path, **options)


def test_threads_never_outnumber_the_cpus(tmp_path: Path) -> None:
    from ascend_infer.cpu_budget import cpu_budget

    assert load(made.identity(), tmp_path).details["threads"] == str(cpu_budget())
    many = cpu_budget() * 3
    model = load(made.identity(), tmp_path, instances=many)
    assert model.details["threads"] == "1"
    assert len(model.executables()) == many
    assert load(made.identity(), tmp_path, threads=5).details["threads"] == "5"
