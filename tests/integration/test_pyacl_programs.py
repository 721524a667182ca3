"""A program written for pyACL, unchanged, on the simulator: the numbers of onnxruntime."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_models as made
import pytest
from onnx import TensorProto, helper, numpy_helper

from ascend_infer.simulator import compile_model
from ascend_infer.simulator.quiet_import import import_onnxruntime

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

PROGRAM = Path(__file__).parents[1] / "helpers" / "pyacl_classifier.py"


def residual_network() -> onnx.ModelProto:
    """Two convolutions with a shortcut, pooling, a classifier of ten: ResNet's parts."""
    random = np.random.default_rng(7)

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) * 0.2, name)

    def node(kind: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
        return helper.make_node(kind, inputs.split(), [output], **attributes)

    graph = helper.make_graph(
        [
            node("Conv", "data w0 b0", "c0", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
            node("Relu", "c0", "r0"),
            node("Conv", "r0 w1 b1", "c1", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            node("Add", "c1 r0", "sum"),
            node("Relu", "sum", "r1"),
            node("GlobalAveragePool", "r1", "pooled"),
            node("Flatten", "pooled", "flat"),
            node("Gemm", "flat w2 b2", "scores"),
        ],
        "residual",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, 32, 32])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])],
        [
            *(weights("w0", 8, 3, 3, 3), weights("b0", 8), weights("w1", 8, 8, 3, 3), weights("b1", 8)),
            *(weights("w2", 8, 10), weights("b2", 10)),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "ascend_infer.compat.acl", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_classifier(tmp_path: Path) -> None:
    onnxruntime = import_onnxruntime()  # its telemetry would keep files open
    source = made.write(residual_network(), tmp_path / "residual.onnx")
    model = tmp_path / "residual.om"
    compile_model(source, model)
    pictures = np.random.default_rng(1).standard_normal((5, 3, 32, 32)).astype(np.float32)
    np.save(tmp_path / "pictures.npy", pictures)
    done = run("--device", "sim", PROGRAM, model, tmp_path / "pictures.npy", tmp_path / "scores.npy")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    session = onnxruntime.InferenceSession(str(source), providers=["CPUExecutionProvider"])
    expected = np.concatenate([session.run(None, {"data": picture[None]})[0] for picture in pictures])
    assert np.array_equal(np.load(tmp_path / "scores.npy"), expected)
    assert done.stdout.split() == [str(best) for best in expected.argmax(1)]


def test_what_a_program_does_wrong_is_told_as_pyacl_does(tmp_path: Path) -> None:
    done = run(
        "--device", "sim", PROGRAM, tmp_path / "none.om", tmp_path / "pictures.npy", tmp_path / "scores.npy"
    )
    assert done.returncode == 1
    assert "acl.mdl.load_from_file failed, ret=" in done.stderr
    assert "none.om" in done.stderr


def test_a_card_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_INFER_ACL_LIBRARY", str(tmp_path / "libascendcl.so"))
    done = run("--device", "npu", PROGRAM)
    assert done.returncode == 2
    assert "there is no libascendcl here" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    for program, problem in (
        (tmp_path / "none.py", "No such file or directory"),
        (tmp_path, "it is a folder without a __main__.py"),
    ):
        done = run("--device", "sim", program)
        assert done.returncode == 2
        assert done.stderr == f"error: {program}: {problem}; expected a Python file\n"
