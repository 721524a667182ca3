from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_models as made
import pytest
from onnx import TensorProto, helper
from scale_model import ONE, scale_directory

import ascend_infer as ai
from ascend_infer.errors import (
    InvalidInputError,
)

pytest.importorskip("onnxruntime")


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return scale_directory(tmp_path)


def test_out_arrays_are_filled(scale: Path) -> None:
    with ai.Session(scale) as session:
        out = np.zeros((1, 4), np.float32)
        for _ in range(3):  # on the worker first, on the caller's thread afterwards
            out[:] = 0
            result = session.infer({"x": ONE}, out={"y": out})
            assert result["y"] is out
            assert out.tolist() == [[2, 2, 2, 2]]
        flat = np.zeros(4, np.float32)
        session.infer({"x": ONE[0]}, out={"y": flat}, batched=False)
        assert flat.tolist() == [2, 2, 2, 2]


def test_names_with_punctuation_scalars_and_text(tmp_path: Path) -> None:
    model = made.model_of(
        [
            helper.make_node("Identity", ["serving_default_input:0"], ["out/a.b:0"]),
            helper.make_node("Identity", ["sr"], ["rate"]),
            helper.make_node("Identity", ["text"], ["echo"]),
        ],
        [
            made.value("serving_default_input:0", TensorProto.FLOAT, ["n", 2]),
            made.value("sr", TensorProto.INT64, []),
            made.value("text", TensorProto.STRING, ["m"]),
        ],
        [
            made.value("out/a.b:0", TensorProto.FLOAT, ["n", 2]),
            made.value("rate", TensorProto.INT64, []),
            made.value("echo", TensorProto.STRING, ["m"]),
        ],
    )
    for place in (
        made.write(model, tmp_path / "bare.onnx"),
        made.model_directory(tmp_path, "net", model),
    ):
        with ai.Session(place) as session:
            result = session.infer(
                {
                    "serving_default_input:0": np.ones((2, 2), np.float32),
                    "sr": 16000,
                    "text": np.array([b"abc", "ä"], object),
                }
            )
            assert result["out/a.b:0"].shape == (2, 2)
            assert int(result["rate"].reshape(-1)[0]) == 16000
            assert result["echo"].tolist() == [b"abc", "ä".encode()]
            assert "BYTES" in result._repr_html_()
            with pytest.raises(InvalidInputError, match="no scores to rank"):
                result.top_k("echo")


def test_declared_shapes_that_are_dummies_run_when_the_configuration_says_so(tmp_path: Path) -> None:
    model = made.identity(dims=(10, 3, 32, 32))
    picture = np.ones((1, 3, 64, 48), np.float32)
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session, pytest.raises(InvalidInputError):
        session.infer({"x": picture})
    folder = made.model_directory(
        tmp_path,
        "net",
        model,
        """input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3, -1, -1 ] }
           output { name: "y" data_type: TYPE_FP32 dims: [ -1, 3, -1, -1 ] }""",
    )
    with ai.Session(folder) as session:
        assert session.infer({"x": picture})["y"].shape == (1, 3, 64, 48)


def test_outputs_of_unknown_rank(tmp_path: Path) -> None:
    model = made.model_of(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [made.value("x", TensorProto.FLOAT, None), made.value("shape", TensorProto.INT64, ["r"])],
        [made.value("y", TensorProto.FLOAT, None)],
    )
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session:
        feed = {"x": np.ones((2, 6), np.float32), "shape": np.array([3, 2, 2])}
        assert session.infer(feed)["y"].shape == (3, 2, 2)


def test_an_output_that_is_no_tensor_is_refused_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = made.model_of(
        [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("SequenceConstruct", ["x"], ["seq"])],
        [made.value("x", TensorProto.FLOAT, [2])],
        [
            made.value("y", TensorProto.FLOAT, [2]),
            helper.make_tensor_sequence_value_info("seq", TensorProto.FLOAT, None),
        ],
    )
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session:
        assert "'seq' is a sequence" in caplog.text
        assert list(session.infer({"x": np.ones(2, np.float32)})) == ["y"]
        with pytest.raises(InvalidInputError, match="name of a sequence"):
            session.infer({"x": np.ones(2, np.float32)}, outputs=["seq"])


def test_an_array_that_is_input_and_output_at_once_gives_the_right_numbers(tmp_path: Path) -> None:
    model = made.model_of(
        [helper.make_node("MatMul", ["x", "x"], ["y"])],
        [made.value("x", TensorProto.FLOAT, [64, 64])],
        [made.value("y", TensorProto.FLOAT, [64, 64])],
    )
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session:
        expected = session.infer(x)["y"].copy()
        for _ in range(3):
            both = x.copy()
            assert session.infer(both, out={"y": both})["y"] is both
            assert np.array_equal(both, expected)
            memory = bytearray(x.tobytes())
            out = np.frombuffer(memory, np.float32).reshape(64, 64)
            session.infer({"x": np.frombuffer(memory, np.float32).reshape(64, 64)}, out=out)
            assert np.array_equal(out, expected)


def test_two_outputs_cannot_share_an_array(tmp_path: Path) -> None:
    with ai.Session(made.write(made.add_sub(), tmp_path / "net.onnx")) as session:
        both = np.zeros((1, 4), np.float32)
        for second in (both, both[:]):
            with pytest.raises(InvalidInputError, match="overlaps that of 'S'"):
                session.infer({"A": ONE, "B": ONE}, out={"S": both, "D": second})
        with pytest.raises(InvalidInputError, match="expected a dict of arrays for 'S', 'D'"):
            session.infer({"A": ONE, "B": ONE}, out=both)
        with pytest.raises(InvalidInputError, match="got list"):
            session.infer({"A": ONE, "B": ONE}, out=[both])
        session.infer({"A": ONE, "B": ONE}, outputs="S", out=both)
        assert both.tolist() == [[2] * 4]


def test_out_with_a_reshape_of_open_dims(tmp_path: Path) -> None:
    config = """platform: "onnxruntime_onnx" max_batch_size: 8
        input { name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] reshape { shape: [ -1, 1, 2 ] } }
        output { name: "y" data_type: TYPE_FP32 dims: [ -1, 2 ] reshape { shape: [ -1, 1, 2 ] } }"""
    folder = made.model_directory(tmp_path, "net", made.identity(dims=("n", "m", 1, 2)), config)
    given = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    with ai.Session(folder) as session:
        out = np.zeros((2, 3, 2), np.float32)
        for _ in range(2):
            out[:] = 0
            assert session.infer(given, out=out)["y"] is out
            assert np.array_equal(out, given)


def test_scalars_stay_scalars(tmp_path: Path) -> None:
    model = made.identity(dims=())
    for place in (made.write(model, tmp_path / "net.onnx"), made.model_directory(tmp_path, "net", model)):
        with ai.Session(place) as session:
            assert session.outputs[0].shape == ()
            assert session.infer(np.float32(3))["y"].shape == ()
            assert session.run(None, {"x": 3.0})[0].shape == ()
            out = np.zeros((), np.float32)
            session.infer(3.0, out=out)
            assert out == 3


def test_an_input_with_a_value_of_its_own_may_be_given_when_the_configuration_names_it(
    tmp_path: Path,
) -> None:
    model = made.scale(2.0)
    model.graph.input.append(made.value("factor", TensorProto.FLOAT, []))
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session:
        assert [spec.name for spec in session.inputs] == ["x"]
    config = """platform: "onnxruntime_onnx" max_batch_size: 0
        input { name: "x" data_type: TYPE_FP32 dims: [ -1, 4 ] }
        input { name: "factor" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } optional: true }"""
    with ai.Session(made.model_directory(tmp_path, "net", model, config)) as session:
        assert session.infer({"x": ONE})["y"].tolist() == [[2] * 4]
        assert session.infer({"x": ONE, "factor": 5.0})["y"].tolist() == [[5] * 4]


def test_eight_bit_floats_run_though_no_configuration_can_name_them(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    model = made.model_of(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)],
        [made.value("x", TensorProto.FLOAT8E5M2, ["n", 2])],
        [made.value("y", TensorProto.FLOAT, ["n", 2])],
        opset=19,
        ir_version=9,
    )
    for place in (made.write(model, tmp_path / "net.onnx"), made.model_directory(tmp_path, "net", model)):
        with ai.Session(place) as session:
            given = np.array([[1.5, -2]], ml_dtypes.float8_e5m2)
            assert session.infer(given)["y"].tolist() == [[1.5, -2]]
            assert "FP8_E5M2" in str(session.inputs[0])
