"""Small ONNX models made on the spot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Dims = Sequence[int | str | None]


def value(name: str, code: int, dims: Dims | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, code, None if dims is None else list(dims))


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Mapping[str, np.ndarray[Any, Any]] | None = None,
    *,
    opset: int = 17,
    ir_version: int = 8,
    metadata: Mapping[str, str] | None = None,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes),
        "graph",
        list(inputs),
        list(outputs),
        [numpy_helper.from_array(np.asarray(w), name) for name, w in (weights or {}).items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", opset)],
        producer_name="tests",
        producer_version="1",
    )
    model.ir_version = ir_version
    for key, text in (metadata or {}).items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, text
    return model


def identity(code: int = TensorProto.FLOAT, dims: Dims = ("n", 4), **names: str) -> onnx.ModelProto:
    source, target = names.get("source", "x"), names.get("target", "y")
    return model_of(
        [helper.make_node("Identity", [source], [target])],
        [value(source, code, dims)],
        [value(target, code, dims)],
    )


def add_sub(dims: Dims = ("n", 4)) -> onnx.ModelProto:
    """S = A + B, D = A - B."""
    return model_of(
        [helper.make_node("Add", ["A", "B"], ["S"]), helper.make_node("Sub", ["A", "B"], ["D"])],
        [value(name, TensorProto.FLOAT, dims) for name in "AB"],
        [value(name, TensorProto.FLOAT, dims) for name in "SD"],
    )


def scale(factor: float, dims: Dims = ("n", 4)) -> onnx.ModelProto:
    return model_of(
        [helper.make_node("Mul", ["x", "factor"], ["y"])],
        [value("x", TensorProto.FLOAT, dims)],
        [value("y", TensorProto.FLOAT, dims)],
        {"factor": np.float32(factor)},
    )


def looping(rows: int = 192) -> onnx.ModelProto:
    """A matrix product repeated ``times`` times: as long a run as is asked for, stoppable between nodes."""
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", "weight"], ["product"]),
            helper.make_node("Identity", ["more"], ["more_out"]),
        ],
        "body",
        [
            value("step", TensorProto.INT64, []),
            value("more", TensorProto.BOOL, []),
            value("state", TensorProto.FLOAT, [rows, rows]),
        ],
        [value("more_out", TensorProto.BOOL, []), value("product", TensorProto.FLOAT, [rows, rows])],
    )
    return model_of(
        [helper.make_node("Loop", ["times", "", "x"], ["y"], body=body)],
        [value("times", TensorProto.INT64, []), value("x", TensorProto.FLOAT, [rows, rows])],
        [value("y", TensorProto.FLOAT, [rows, rows])],
        {"weight": np.eye(rows, dtype=np.float32)},
    )


def failing_reshape() -> onnx.ModelProto:
    """Runs for an even number of elements, fails in the middle of the graph otherwise."""
    return model_of(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [value("x", TensorProto.FLOAT, ["n"])],
        [value("y", TensorProto.FLOAT, [None, 2])],
        {"shape": np.array([-1, 2], np.int64)},
    )


def write(model: onnx.ModelProto, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return path


def model_directory(
    root: Path, name: str, model: onnx.ModelProto, config: str | None = None, versions: Sequence[int] = (1,)
) -> Path:
    folder = root / name
    for version in versions:
        write(model, folder / str(version) / "model.onnx")
    if config is not None:
        (folder / "config.pbtxt").write_text(config, encoding="utf-8")
    return folder
