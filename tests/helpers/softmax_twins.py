"""A softmax classifier whose rows give nearly the same answer, and twins of it that are damaged in known ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_models as made
from onnx import TensorProto, helper

SIDE = 16
_PLACES = {
    "zero": np.array([0]),
    "one": np.array([1]),
    "last": np.array([-1]),
    "all": np.array([2**31 - 1]),
    "far": np.array([-(2**31)]),
}


def twin(
    seed: int,
    damage: str = "none",
    *,
    half: bool = False,
    classes: int = 10,
    channels: int = 8,
    scale: float = 1.0,
    last: str = "Softmax",
    factor: float = 0,
    noise: float = 0,
) -> onnx.ModelProto:
    """images (n, 3, 16, 16) -> scores: Conv, Relu, mean, MatMul and ``last``; ``half`` computes in float16.

    ``damage`` is none, swapped, shifted, reversed, or row: row 0 of the batch times ``factor``, as in a buffer whose
    beginning is lost. ``noise`` changes the weights.
    """
    draw = np.random.default_rng(seed)
    tensors = {
        "kernel": draw.standard_normal((channels, 3, 3, 3)) * scale,
        "matrix": draw.standard_normal((channels, classes)) * scale,
    }
    tensors = {
        name: array * (1 + noise * draw.standard_normal(array.shape)) for name, array in tensors.items()
    }
    if damage == "swapped":
        tensors["kernel"] = np.ascontiguousarray(tensors["kernel"][:, ::-1])
    weights = {name: array.astype(np.float16 if half else np.float32) for name, array in tensors.items()}
    nodes = [
        helper.make_node("Cast", ["images"], ["x"], to=TensorProto.FLOAT16 if half else TensorProto.FLOAT),
        helper.make_node("Conv", ["x", "kernel"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("MatMul", ["f", "matrix"], ["m"]),
        helper.make_node(last, ["m"], ["s"]),
        helper.make_node("Cast", ["s"], ["rows"], to=TensorProto.FLOAT),
        *_ends(damage),
    ]
    extra = {**_PLACES, "factor": np.array(factor, np.float32)}
    return made.model_of(
        nodes,
        [made.value("images", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
        [made.value("scores", TensorProto.FLOAT, ["n" if damage in ("none", "swapped") else "m", classes])],
        {**weights, **extra},
    )


def _ends(damage: str) -> list[onnx.NodeProto]:
    def piece(begin: str, end: str, name: str) -> onnx.NodeProto:
        return helper.make_node("Slice", ["rows", begin, end, "zero"], [name])

    if damage == "shifted":
        join = helper.make_node("Concat", ["head", "rest"], ["scores"], axis=0)
        return [piece("zero", "one", "head"), piece("zero", "last", "rest"), join]
    if damage == "reversed":
        return [helper.make_node("Slice", ["rows", "last", "far", "zero", "last"], ["scores"])]
    if damage == "row":
        times = helper.make_node("Mul", ["head", "factor"], ["bad"])
        join = helper.make_node("Concat", ["bad", "rest"], ["scores"], axis=0)
        return [piece("zero", "one", "head"), times, piece("one", "all", "rest"), join]
    return [helper.make_node("Identity", ["rows"], ["scores"])]


def saved(model: onnx.ModelProto, folder: Path, name: str) -> Path:
    return made.write(model, folder / f"{name}.onnx")


def pictures(seed: int, rows: int = 4, requests: int = 3) -> list[dict[str, np.ndarray]]:
    draw = np.random.default_rng(seed)
    return [{"images": draw.random((rows, 3, SIDE, SIDE), dtype=np.float32)} for _ in range(requests)]
