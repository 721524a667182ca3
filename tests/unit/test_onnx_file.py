from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_models as made
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from ascend_infer import onnx_file
from ascend_infer.errors import ModelFileError
from ascend_infer.types import DataType, TensorSpec


def test_signature_and_facts(tmp_path: Path) -> None:
    model = made.model_of(
        [helper.make_node("Mul", ["input:0", "w"], ["out/y"])],
        [made.value("input:0", TensorProto.FLOAT16, ["batch", 3, None])],
        [made.value("out/y", TensorProto.FLOAT16, ["batch", 3, None])],
        {"w": np.float16(2)},
        metadata={"alphabet": "äö\n"},
    )
    found = onnx_file.read(made.write(model, tmp_path / "model.onnx"))
    assert found.spec.inputs == (TensorSpec("input:0", DataType.FP16, (-1, 3, -1), ("batch", None, None)),)
    assert found.spec.outputs[0].name == "out/y"
    assert found.spec.metadata == {"producer": "tests", "producer_version": "1", "alphabet": "äö\n"}
    assert (found.ir_version, found.opsets, found.nodes, found.initializers) == (8, {"": 17}, 1, 1)


@pytest.mark.parametrize("ir_version", [3, 4, 8])
def test_weights_listed_as_inputs_are_not_inputs(tmp_path: Path, ir_version: int) -> None:
    model = made.scale(2.0)
    model.graph.input.append(made.value("factor", TensorProto.FLOAT, []))
    model.ir_version = ir_version
    found = onnx_file.read(made.write(model, tmp_path / "model.onnx"))
    assert [tensor.name for tensor in found.spec.inputs] == ["x"]


def test_scalar_unknown_rank_and_zero_dims(tmp_path: Path) -> None:
    model = made.model_of(
        [helper.make_node("Identity", [a], [b]) for a, b in (("s", "t"), ("u", "v"), ("z", "q"))],
        [
            made.value("s", TensorProto.INT64, []),
            made.value("u", TensorProto.FLOAT, None),
            made.value("z", TensorProto.FLOAT, [0, 2]),
        ],
        [made.value(name, TensorProto.FLOAT, None) for name in "tvq"],
    )
    found = onnx_file.read(made.write(model, tmp_path / "model.onnx"))
    assert [tensor.shape for tensor in found.spec.inputs] == [(), (-2,), (-1, 2)]


def test_sequences_and_maps_are_named(tmp_path: Path) -> None:
    model = made.model_of(
        [helper.make_node("SequenceConstruct", ["x"], ["seq"])],
        [made.value("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_sequence_value_info("seq", TensorProto.FLOAT, None)],
    )
    found = onnx_file.read(made.write(model, tmp_path / "model.onnx"))
    assert found.spec.not_tensors == {"seq": "sequence"}
    assert found.other_inputs == {}
    assert found.spec.outputs == ()


def test_external_data_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = made.model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [made.value("x", TensorProto.FLOAT, [1024])],
        [made.value("y", TensorProto.FLOAT, [1024])],
        {"w": np.ones(1024, np.float32)},
    )
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert onnx_file.read(path).external_data == ("weights.bin",)


def test_weights_are_not_read(tmp_path: Path) -> None:
    import tracemalloc

    model = made.model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [made.value("x", TensorProto.FLOAT, [1])],
        [made.value("y", TensorProto.FLOAT, ["n"])],
        {"w": np.ones(4_000_000, np.float32)},
    )
    path = made.write(model, tmp_path / "model.onnx")
    del model
    tracemalloc.start()
    onnx_file.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"IMOD\0\0\0\0", "model.om"),
        (b"PK\x03\x04....", "ZIP"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b'{"model": 1}', "JSON"),
        (b"\x80\x04\x95", "pickle"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"just some text", "damaged, cut short or no ONNX"),
        (b"\x12\x03abc", "no graph and no IR version"),
    ],
)
def test_other_files_are_told_apart(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=reason) as caught:
        onnx_file.read(path)
    assert caught.value.path == str(path)
    assert caught.value.reason in str(caught.value)


def test_missing_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="No such file"):
        onnx_file.read(tmp_path / "nothing.onnx")
    with pytest.raises(ModelFileError, match="directory"):
        onnx_file.read(tmp_path)


@pytest.fixture(scope="module")
def whole() -> bytes:
    return made.add_sub().SerializeToString()


def test_every_truncation_is_one_error_or_a_description(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    refused = 0
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        try:
            onnx_file.read(path)
        except ModelFileError:
            refused += 1
    # A cut that falls between two fields of the message leaves a valid, shorter message.
    assert refused > len(whole) * 0.9


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_damage_is_one_error_or_a_description(
    data: st.DataObject, whole: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.onnx"
    path.write_bytes(damaged)
    try:
        onnx_file.read(path)
    except ModelFileError as error:
        assert error.reason


def test_relaxing_opens_declared_dims_and_nothing_else(tmp_path: Path) -> None:
    model = made.scale(3.0, dims=(10, 4))
    copy = onnx.load_from_string(onnx_file.relax_declared_shapes(model.SerializeToString(), {"x"}))
    onnx.checker.check_model(copy)
    shape = copy.graph.input[0].type.tensor_type.shape
    assert [dim.WhichOneof("value") for dim in shape.dim] == [None, None]
    assert copy.graph.initializer[0] == model.graph.initializer[0]
    for dims in (copy.graph.input[0], copy.graph.output[0], model.graph.input[0], model.graph.output[0]):
        dims.type.tensor_type.ClearField("shape")
    assert copy == model
