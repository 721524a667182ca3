"""A small picture classifier and twins of it that are damaged in known ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_models as made
from onnx import TensorProto, helper, numpy_helper

CLASSES = 6
CONFIG = """
platform: "ge"
max_batch_size: 8
input [ { name: "images" data_type: TYPE_FP32 dims: [ 3, 8, 8 ] } ]
output [ { name: "scores" data_type: TYPE_FP32 dims: [ 6 ] } ]
"""


def weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {
        "kernel": random.standard_normal((4, 3, 3, 3)).astype(np.float32),
        "matrix": random.standard_normal((4 * 8 * 8, CLASSES)).astype(np.float32),
        "one": np.array([1]),
    }


def classifier(
    tensors: dict[str, np.ndarray] | None = None,
    last: Callable[[], list[onnx.NodeProto]] | None = None,
    extra: dict[str, np.ndarray] | None = None,
) -> onnx.ModelProto:
    """images (n, 3, 8, 8) -> scores (n, 6); ``last`` makes scores of the rows called ``logits``."""
    nodes = [
        helper.make_node("Conv", ["images", "kernel"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("MatMul", ["f", "matrix"], ["logits"]),
        *([helper.make_node("Identity", ["logits"], ["scores"])] if last is None else last()),
    ]
    return made.model_of(
        nodes,
        [made.value("images", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [made.value("scores", TensorProto.FLOAT, ["n" if last is None else "m", CLASSES])],
        {**weights(), **(tensors or {}), **(extra or {})},
    )


def swapped_channels() -> onnx.ModelProto:
    """The weights of a model that was trained on BGR."""
    return classifier({"kernel": np.ascontiguousarray(weights()["kernel"][:, ::-1])})


def swapping_preprocessing() -> onnx.ModelProto:
    """The true weights behind a preprocessing that reorders the channels to 2, 0, 1."""
    model = classifier(extra={"order": np.array([2, 0, 1])})
    model.graph.node[0].input[0] = "ordered"
    model.graph.node.insert(0, helper.make_node("Gather", ["images", "order"], ["ordered"], axis=1))
    return model


def mirrored() -> onnx.ModelProto:
    model = classifier(extra={"back": np.array([-1]), "far": np.array([-(2**31)]), "axis": np.array([3])})
    model.graph.node[0].input[0] = "turned"
    model.graph.node.insert(
        0, helper.make_node("Slice", ["images", "back", "far", "axis", "back"], ["turned"])
    )
    return model


def _slice(begin: str, end: str, name: str) -> onnx.NodeProto:
    return helper.make_node("Slice", ["logits", begin, end, "zero"], [name])


_ENDS = {"zero": np.array([0]), "last": np.array([-1]), "all": np.array([2**31 - 1])}


def first_row_dropped() -> onnx.ModelProto:
    """n rows in, n - 1 out; a row alone keeps its answer."""

    def last() -> list[onnx.NodeProto]:
        count = helper.make_node("Shape", ["logits"], ["count"], start=0, end=1)
        less = helper.make_node("Sub", ["count", "one"], ["less"])
        begin = helper.make_node("Min", ["less", "one"], ["begin"])
        return [count, less, begin, helper.make_node("Slice", ["logits", "begin", "all", "zero"], ["scores"])]

    return classifier(last=last, extra=_ENDS)


def shifted_rows() -> onnx.ModelProto:
    """Row 0 twice and the last row never: as many rows as went in."""

    def last() -> list[onnx.NodeProto]:
        return [
            _slice("zero", "one", "head"),
            _slice("zero", "last", "rest"),
            helper.make_node("Concat", ["head", "rest"], ["scores"], axis=0),
        ]

    return classifier(last=last, extra=_ENDS)


def repeated_row() -> onnx.ModelProto:
    """One row more than went in."""

    def last() -> list[onnx.NodeProto]:
        head = _slice("zero", "one", "head")
        return [head, helper.make_node("Concat", ["head", "logits"], ["scores"], axis=0)]

    return classifier(last=last, extra=_ENDS)


def reversed_rows() -> onnx.ModelProto:
    def last() -> list[onnx.NodeProto]:
        return [helper.make_node("Slice", ["logits", "last", "far", "zero", "last"], ["scores"])]

    return classifier(last=last, extra={**_ENDS, "far": np.array([-(2**31)])})


def half_weights(tensors: dict[str, np.ndarray] | None = None) -> onnx.ModelProto:
    """The weights in float16, cast back for the arithmetic."""
    model = classifier(tensors)
    for tensor in list(model.graph.initializer):
        if tensor.data_type == TensorProto.FLOAT:
            half = numpy_helper.to_array(tensor).astype(np.float16)
            model.graph.initializer.remove(tensor)
            model.graph.initializer.append(numpy_helper.from_array(half, f"{tensor.name}_half"))
            cast = helper.make_node("Cast", [f"{tensor.name}_half"], [tensor.name], to=TensorProto.FLOAT)
            model.graph.node.insert(0, cast)
    return model


def pictures(rows: int = 4, seed: int = 0) -> dict[str, np.ndarray]:
    return {"images": np.random.default_rng(seed).random((rows, 3, 8, 8)).astype(np.float32)}


def saved(model: onnx.ModelProto, folder: Path, name: str) -> Path:
    return made.write(model, folder / f"{name}.onnx")
