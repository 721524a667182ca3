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


def write_with_weights(model: onnx.ModelProto, path: Path, weights: str) -> Path:
    """Write a model whose weights are in another file; returns that file."""
    file = path.parent / weights
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)  # onnx appends
    onnx.save(model, path, save_as_external_data=True, location=weights, size_threshold=0)
    return file


def model_directory(
    root: Path, name: str, model: onnx.ModelProto, config: str | None = None, versions: Sequence[int] = (1,)
) -> Path:
    folder = root / name
    for version in versions:
        write(model, folder / str(version) / "model.onnx")
    if config is not None:
        (folder / "config.pbtxt").write_text(config, encoding="utf-8")
    return folder


def ragged(kind: str, code: int = TensorProto.INT32) -> onnx.ModelProto:
    """Requests laid end to end in ``x``, told apart by ``made``.

    ``double`` is twice x, element for element. ``told`` has a row for each row of the batch and says what came in as
    ``made``, of a batch_input of this kind with the source x; for accumulated counts, the sums of the parts.
    """
    flat = value("x", TensorProto.FLOAT, ["elements"])
    nodes = [helper.make_node("Add", ["x", "x"], ["double"])]
    inputs = [flat, value("made", code, ["a", 2] if kind == "BATCH_ITEM_SHAPE" else ["a"])]
    told = value("told", code, ["b"])
    weights: dict[str, np.ndarray[Any, Any]] = {}
    if kind in ("BATCH_ELEMENT_COUNT", "BATCH_ITEM_SHAPE"):
        nodes.append(helper.make_node("Identity", ["made"], ["told"]))
        told = value("told", code, ["b", 2] if kind == "BATCH_ITEM_SHAPE" else ["b"])
    elif kind == "BATCH_ITEM_SHAPE_FLATTEN":
        nodes.append(helper.make_node("Reshape", ["made", "pairs"], ["told"]))
        weights["pairs"] = np.array([-1, 2], np.int64)
        told = value("told", code, ["b", 2])
    elif kind == "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE":
        nodes += [
            helper.make_node("Size", ["made"], ["size"]),
            helper.make_node("Cast", ["size"], ["cast"], to=code),
            helper.make_node("Shape", ["count"], ["rows"]),
            helper.make_node("Expand", ["cast", "rows"], ["told"]),
        ]
        inputs.append(value("count", TensorProto.INT32, ["b"]))
    else:
        told = value("told", TensorProto.FLOAT, ["b"])
        weights |= {"zero": np.array(0, np.int64), "first": np.array([0], np.int64)}
        weights |= {"one": np.array([1], np.int64), "last": np.array([2**62], np.int64)}
        weights |= {"nothing": np.zeros(1, np.float32), "minus": np.array([-1], np.int64)}
        ends = "made64"
        nodes.append(helper.make_node("Cast", ["made"], ["made64"], to=TensorProto.INT64))
        if kind == "BATCH_ACCUMULATED_ELEMENT_COUNT":
            nodes.append(helper.make_node("Concat", ["first", "made64"], ["ends"], axis=0))
            ends = "ends"
        nodes += [
            helper.make_node("CumSum", ["x", "zero"], ["running"]),
            helper.make_node("Concat", ["nothing", "running"], ["sums"], axis=0),
            helper.make_node("Gather", ["sums", ends], ["at"]),
            helper.make_node("Slice", ["at", "one", "last"], ["upper"]),
            helper.make_node("Slice", ["at", "first", "minus"], ["lower"]),
            helper.make_node("Sub", ["upper", "lower"], ["told"]),
        ]
    outputs = [value("double", TensorProto.FLOAT, ["elements"]), told]
    return model_of(nodes, inputs, outputs, weights)
