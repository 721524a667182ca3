"""Weights of an ONNX file counted by type, and rounded in a copy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_models as made
import pytest
from onnx import TensorProto, helper, numpy_helper

from ascend_infer.onnx_file.weight_precision import rounded_weights, weight_types
from ascend_infer.types import DataType

VALUES = np.concatenate(
    [
        np.random.default_rng(0).standard_normal(1000).astype(np.float32),
        np.array([0, -0.0, np.inf, -np.inf, 1e30, -1e30, 65519, 65520, 1e-8, 3.4e38], np.float32),
    ]
)


def written(path: Path, tensor: onnx.TensorProto, constant: np.ndarray | None = None) -> Path:
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    if constant is not None:
        value = numpy_helper.from_array(constant)
        nodes.insert(0, helper.make_node("Constant", [], ["c"], value=value))
    model = made.model_of(
        nodes,
        [made.value("x", TensorProto.FLOAT, ["n"])],
        [made.value("y", TensorProto.FLOAT, ["n"])],
        {"ids": np.arange(3)},
    )
    model.graph.initializer.append(tensor)
    return made.write(model, path / "m.onnx")


def weight(data: bytes | None, name: str = "w") -> np.ndarray:
    assert data is not None
    [found] = [item for item in onnx.load_from_string(data).graph.initializer if item.name == name]
    return numpy_helper.to_array(found)


def raw() -> onnx.TensorProto:
    return numpy_helper.from_array(VALUES, "w")


def listed() -> onnx.TensorProto:
    return helper.make_tensor("w", TensorProto.FLOAT, VALUES.shape, VALUES.tolist())


@pytest.mark.parametrize("make", [raw, listed])
def test_float16_is_rounded_to_nearest_and_what_is_too_large_becomes_the_largest(
    tmp_path: Path, make
) -> None:
    path = written(tmp_path, make())
    found = weight(rounded_weights(path, "float16"))
    finite = np.abs(VALUES) < 65504
    assert np.array_equal(found[finite], VALUES[finite].astype(np.float16).astype(np.float32))
    assert np.array_equal(np.signbit(found), np.signbit(VALUES))
    large = np.isfinite(VALUES) & ~finite
    assert set(np.abs(found[large])) == {65504}
    assert np.array_equal(np.isinf(found), np.isinf(VALUES))


def test_bfloat16_is_rounded_as_ml_dtypes_does(tmp_path: Path) -> None:
    bfloat16 = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    found = weight(rounded_weights(written(tmp_path, raw()), "bfloat16"))
    usual = np.abs(VALUES) < 3e38
    assert np.array_equal(found[usual], VALUES[usual].astype(bfloat16).astype(np.float32))


def test_everything_else_stays_byte_for_byte(tmp_path: Path) -> None:
    path = written(tmp_path, raw(), np.array([1 / 3], np.float32))
    data = rounded_weights(path, "float16")
    assert data is not None
    assert len(data) == path.stat().st_size
    assert np.array_equal(weight(data, "ids"), np.arange(3))
    constant = onnx.load_from_string(data).graph.node[0].attribute[0].t
    assert numpy_helper.to_array(constant)[0] == np.float32(np.float16(1 / 3))


def test_weights_are_counted_by_type(tmp_path: Path) -> None:
    path = written(tmp_path, raw(), np.array([1], np.float16))
    assert weight_types(path) == {DataType.FP32: 1, DataType.INT64: 1, DataType.FP16: 1}


def test_weights_in_other_files_and_none_at_all_give_no_copy(tmp_path: Path) -> None:
    tensor = raw()
    tensor.ClearField("raw_data")
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "weights.bin"
    tensor.data_location = TensorProto.EXTERNAL
    assert rounded_weights(written(tmp_path, tensor), "float16") is None
    assert rounded_weights(made.write(made.identity(), tmp_path / "i.onnx"), "float16") is None
