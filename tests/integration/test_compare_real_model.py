"""EfficientNet-Lite0 beside twins of it that are damaged here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from real_models import efficientnet_lite0

import ascend_infer as ai
from ascend_infer.comparison import Comparison, compare

pytestmark = pytest.mark.models


def bgr(model: onnx.ModelProto) -> None:
    [first] = [node for node in model.graph.node if model.graph.input[0].name in node.input]
    assert first.op_type == "Conv"
    [kernel] = [item for item in model.graph.initializer if item.name == first.input[1]]
    reversed_kernel = np.ascontiguousarray(numpy_helper.to_array(kernel)[:, ::-1])
    kernel.CopyFrom(numpy_helper.from_array(reversed_kernel, kernel.name))


def shifted(model: onnx.ModelProto) -> None:
    graph = model.graph
    name = graph.output[0].name
    for node in graph.node:
        node.output[:] = ["right" if item == name else item for item in node.output]
    for key, value in (("zero", 0), ("one", 1), ("last", -1)):
        graph.initializer.append(numpy_helper.from_array(np.array([value]), f"shift_{key}"))
    graph.node.extend(
        [
            helper.make_node("Slice", ["right", "shift_zero", "shift_one", "shift_zero"], ["first_rows"]),
            helper.make_node("Slice", ["right", "shift_zero", "shift_last", "shift_zero"], ["other_rows"]),
            helper.make_node("Concat", ["first_rows", "other_rows"], [name], axis=0),
        ]
    )


def half(model: onnx.ModelProto) -> None:
    graph = model.graph
    for tensor in [item for item in graph.initializer if item.data_type == TensorProto.FLOAT]:
        array = numpy_helper.to_array(tensor).astype(np.float16)
        graph.initializer.remove(tensor)
        graph.initializer.append(numpy_helper.from_array(array, f"{tensor.name}_half"))
        graph.node.insert(
            0, helper.make_node("Cast", [f"{tensor.name}_half"], [tensor.name], to=TensorProto.FLOAT)
        )


def compared(tmp_path: Path, damage: Callable[[onnx.ModelProto], None]) -> Comparison:
    path = efficientnet_lite0()
    model = onnx.load(path)
    damage(model)
    twin = tmp_path / "twin.onnx"
    twin.write_bytes(model.SerializeToString())
    images = np.random.default_rng(0).random((3, 3, 224, 224)).astype(np.float32)
    with ai.Session(path, device="cpu") as a, ai.Session(twin, device="cpu") as b:
        return compare(a, b, {a.inputs[0].name: images})


@pytest.mark.parametrize(
    ("damage", "kind"),
    [(bgr, "channels_swapped"), (shifted, "rows_dropped"), (half, "half_precision")],
    ids=["bgr", "shifted", "half"],
)
def test_a_real_models_twin_gets_its_verdict(
    tmp_path: Path, damage: Callable[[onnx.ModelProto], None], kind: str
) -> None:
    found = compared(tmp_path, damage)
    assert [finding.kind for finding in found.findings] == [kind], found
    assert found.findings[0].verified, found
    assert found.verdict != "same"
