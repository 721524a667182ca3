"""Which way an ONNX model runs, and what is known of its outputs beforehand."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_models as made
import onnx_ways
import pytest
from onnx import TensorProto, helper

from ascend_infer import backends, onnx_file
from ascend_infer.backends import onnx as onnx_backend
from ascend_infer.backends.base import BackendOptions, LoadRequest
from ascend_infer.backends.onnx_failure import run_failure
from ascend_infer.backends.onnx_library import find_library
from ascend_infer.backends.onnx_native import output_shapes
from ascend_infer.errors import (
    HostOutOfMemoryError,
    MissingDependencyError,
    ModelExecutionError,
    ModelFileError,
)
from ascend_infer.types import DataType, ModelSpec, TensorSpec

pytest.importorskip("onnxruntime")

ONE = np.ones((2, 4), np.float32)


def load(model: onnx.ModelProto, tmp_path: Path, **options: Any) -> Any:
    path = made.write(model, tmp_path / "model.onnx")
    return backends.create("onnx").load(LoadRequest("net", path, BackendOptions(**options)))


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> None:
    onnx_ways.take("C", monkeypatch)


@pytest.mark.usefixtures("native")
def test_plain_models_run_natively_and_others_do_not(tmp_path: Path) -> None:
    assert load(made.identity(), tmp_path).details["interface"] == "C"
    for providers in ([], ["CPUExecutionProvider"], [("CPUExecutionProvider", {})]):
        assert load(made.identity(), tmp_path, providers=providers).details["interface"] == "C"
    assert load(made.identity(TensorProto.STRING), tmp_path).details["interface"] == "Python"
    configured = [("CPUExecutionProvider", {"use_arena": "0"})]
    assert load(made.identity(), tmp_path, providers=configured).details["interface"] == "Python"


@pytest.mark.usefixtures("native")
def test_both_ways_say_the_same_of_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    native = load(made.identity(), tmp_path, threads=3)
    onnx_ways.take("Python", monkeypatch)
    python = load(made.identity(), tmp_path, threads=3)
    assert dict(native.details) | {"interface": ""} == dict(python.details) | {"interface": ""}
    assert native.spec == python.spec
    assert (native.device, native.executables()[0].device) == ("cpu", "cpu")


@pytest.mark.usefixtures("native")
def test_a_library_that_does_not_load_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "libonnxruntime.so").write_bytes(b"")
    monkeypatch.setattr(onnx_backend, "find_library", lambda: tmp_path / "libonnxruntime.so")
    with caplog.at_level(logging.INFO, "ascend_infer"):
        assert load(made.identity(), tmp_path).details["interface"] == "Python"
    assert "model 'net' runs through onnxruntime's Python module" in caplog.text


class Spec:
    def __init__(self, *folders: Path) -> None:
        self.submodule_search_locations = list(map(str, folders))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["libonnxruntime.so.1.32.0", "libonnxruntime_providers_shared.so"], "libonnxruntime.so.1.32.0"),
        (["libonnxruntime.1.32.0.dylib"], "libonnxruntime.1.32.0.dylib"),
        (["libonnxruntime.so.1.32.0", "libonnxruntime.so.1.19.0"], None),
        (["onnxruntime_pybind11_state.so"], None),
    ],
)
def test_the_library_is_the_only_one_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], found: str | None
) -> None:
    (tmp_path / "capi").mkdir()
    for name in files:
        (tmp_path / "capi" / name).touch()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: Spec(tmp_path))
    library = find_library()
    assert (library.name if library else None) == found
    if found:
        (tmp_path / "capi" / "libonnxruntime.so").symlink_to(found)
        assert find_library() == library


def test_a_missing_onnxruntime_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"ascend-infer\[cpu\]"):
        load(made.identity(), tmp_path)


@pytest.mark.usefixtures("native")
def test_names_and_inputs_that_the_model_does_not_have(tmp_path: Path) -> None:
    model = made.scale(2.0)
    model.graph.input.append(made.value("factor", TensorProto.FLOAT, []))
    [run] = load(model, tmp_path).executables()
    assert run.execute({"x": ONE}, ("y",))[0].max() == 2
    assert run.execute({"x": ONE, "factor": np.array(3, np.float32)}, ("y",))[0].max() == 3
    with pytest.raises(ModelExecutionError, match="no input 'z'; it has: x, factor"):
        run.execute({"x": ONE, "z": ONE}, ["y"])
    with pytest.raises(ModelExecutionError, match="no output 'z'; it has: y"):
        run.execute({"x": ONE}, ["z"])
    answers = run.execute_many([{"x": ONE}, {"x": ONE, "z": ONE}, {}], ["y"])
    assert isinstance(answers[0], list)
    assert "no input 'z'" in str(answers[1])
    assert "'x' is missing" in str(answers[2])


@pytest.mark.usefixtures("native")
def test_a_damaged_file_is_one(tmp_path: Path) -> None:
    # What our own reader does not look at: a weight's content.
    model = made.scale(2.0)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString().replace(b"\x0a\x06factor", b"\x0a\x7ffactor"))
    with pytest.raises(ModelFileError):
        backends.create("onnx").load(LoadRequest("net", path))


FP32 = DataType.FP32


def test_shapes_of_outputs_follow_from_names_and_rows() -> None:
    spec = ModelSpec(
        "onnx",
        (
            TensorSpec("ids", FP32, (-1, -1, 3), ("batch", "seq", "batch")),
            TensorSpec("more", FP32, (-1, -1), ("?", "")),
        ),
        (
            TensorSpec("fixed", FP32, (2, 3), (None, None)),
            TensorSpec("states", FP32, (-1, -1, 384), ("batch", "seq", None)),
            TensorSpec("rows", FP32, (-1, 5), (None, None)),
            TensorSpec("inferred", FP32, (-1, 7)),
            TensorSpec("unknown", FP32, (-1, -1), ("batch", "boxes")),
            TensorSpec("nameless", FP32, (3, -1), (None, "?")),
            TensorSpec("anything", FP32, (-2,)),
            TensorSpec("scalar", FP32, ()),
        ),
    )
    outputs = [tensor.name for tensor in spec.outputs]
    # The session's order of inputs is its own.
    found = output_shapes(spec, ["more", "ids"], ["seq", *outputs], None)
    assert found == [None, (2, 3), ((1, 0), (1, 1), 384), None, None, None, None, None, ()]
    batched = output_shapes(spec, ["more", "ids"], outputs, True)
    assert batched[2:4] == [((1, 0), 5), ((1, 0), 7)]
    assert batched[5] is None


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        (made.add_sub(), True),
        (made.scale(2.0), True),
        (made.failing_reshape(), True),
        (made.looping(), False),
        (
            made.model_of(
                [helper.make_node("Expand", ["x", "shape"], ["y"])],
                [made.value("x", TensorProto.FLOAT, [1]), made.value("shape", TensorProto.INT64, [1])],
                [made.value("y", TensorProto.FLOAT, [None])],
            ),
            False,
        ),
        (
            made.model_of(
                [helper.make_node("Add", ["x", "x"], ["y"], domain="of.my.own")],
                [made.value("x", TensorProto.FLOAT, [1])],
                [made.value("y", TensorProto.FLOAT, [1])],
            ),
            False,
        ),
        (
            made.model_of(
                [helper.make_node("Identity", [f"x{i}"], [f"x{i + 1}"]) for i in range(70)],
                [made.value("x0", TensorProto.FLOAT, [1])],
                [made.value("x70", TensorProto.FLOAT, [1])],
            ),
            False,
        ),
    ],
    ids=["add", "scale", "reshape", "loop", "expand", "domain", "large"],
)
def test_which_models_take_the_same_time_for_the_same_shapes(
    tmp_path: Path, model: onnx.ModelProto, answer: bool
) -> None:
    path = made.write(model, tmp_path / "model.onnx")
    assert onnx_file.timed_by_shapes(path, onnx_file.read(path)) is answer


def test_a_models_own_functions_may_be_anything(tmp_path: Path) -> None:
    model = made.add_sub()
    body = [helper.make_node("Abs", ["a"], ["b"])]
    model.functions.append(helper.make_function("", "Add", ["a"], ["b"], body, [helper.make_opsetid("", 17)]))
    path = made.write(model, tmp_path / "model.onnx")
    assert onnx_file.timed_by_shapes(path, onnx_file.read(path)) is False


def too_large() -> onnx.ModelProto:
    """Return a model that needs more than any address space has for a row of four."""
    nodes = [
        helper.make_node("Unsqueeze", ["x", "axes"], ["deep"]),
        helper.make_node("Expand", ["deep", "shape"], ["wide"]),
        helper.make_node("ReduceMax", ["wide"], ["y"], axes=[2], keepdims=0),
    ]
    return made.model_of(
        nodes,
        [made.value("x", TensorProto.FLOAT, ["n", 4])],
        [made.value("y", TensorProto.FLOAT, ["n", 4])],
        {"axes": np.array([2]), "shape": np.array([1, 1, 2**44])},
    )


@pytest.mark.parametrize("way", onnx_ways.WAYS)
def test_want_of_memory_is_told_from_a_failure_of_the_model(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx_ways.take(way, monkeypatch)
    [executable] = load(too_large(), tmp_path).executables()
    with pytest.raises(
        HostOutOfMemoryError, match="model 'net': the memory does not suffice.*max_batch_size"
    ):
        executable.execute({"x": ONE}, ["y"])


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Failed to allocate memory for requested buffer of size 268435456"),
        RuntimeError("BFCArena::Extend Available memory of 16 is smaller than requested bytes of 32"),
        RuntimeError("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Exception during run: std::bad_alloc"),
        MemoryError(),
    ],
)
def test_every_wording_of_want_of_memory_is_known(error: Exception) -> None:
    failure = run_failure("net", error)
    assert isinstance(failure, HostOutOfMemoryError)
    assert failure.__cause__ is error
    assert type(run_failure("net", RuntimeError("Gather: index 7 is out of bounds"))) is ModelExecutionError
