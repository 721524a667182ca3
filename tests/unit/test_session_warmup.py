from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from onnx import TensorProto, helper
from scale_model import CONFIG, scale_directory

import ascend_infer as ai
from ascend_infer.errors import (
    ConfigError,
    ModelLoadError,
)

pytest.importorskip("onnxruntime")


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return scale_directory(tmp_path)


def warmup(kind: str, **changes: Any) -> str:
    size, count, dims = changes.get("batch_size", 2), changes.get("count", 3), changes.get("dims", "4")
    return (
        f'{CONFIG} model_warmup [ {{ name: "w" batch_size: {size} count: {count} inputs {{ key: "x" '
        f"value: {{ data_type: TYPE_FP32 dims: [ {dims} ] {kind} }} }} }} ]"
    )


@pytest.mark.parametrize("kind", ["zero_data: true", "random_data: true", 'input_data_file: "x.bin"'])
def test_warm_up_runs_before_the_first_request(
    scale: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_infer.backends.onnx_executable import OnnxExecutable
    from ascend_infer.backends.onnx_native import NativeExecutable

    runs: list[np.ndarray[Any, Any]] = []

    def record(kind: Any) -> None:
        execute = kind.execute

        def recorded(self: Any, inputs: Any, *others: Any) -> Any:
            runs.append(inputs["x"])
            return execute(self, inputs, *others)

        monkeypatch.setattr(kind, "execute", recorded)

    record(NativeExecutable)
    record(OnnxExecutable)
    (scale / "warmup").mkdir()
    (scale / "warmup" / "x.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    (scale / "config.pbtxt").write_text(warmup(kind))
    with ai.Session(scale):
        assert [run.shape for run in runs] == [(2, 4)] * 3
    if "file" in kind:
        assert runs[0].tolist() == [[0, 1, 2, 3]] * 2
    assert runs[0].any() == ("zero" not in kind)


def test_a_warm_up_that_fails_is_named(tmp_path: Path) -> None:
    config = """platform: "onnxruntime_onnx" max_batch_size: 0
        model_warmup [ { name: "odd" batch_size: 1 inputs { key: "x" value: {
            data_type: TYPE_FP32 dims: [ 3 ] zero_data: true } } } ]"""
    folder = made.model_directory(tmp_path, "net", made.failing_reshape(), config)
    with pytest.raises(ModelLoadError, match="warmup sample 'odd'.*Reshape"):
        ai.Session(folder)


def test_a_short_warm_up_file_is_named(scale: Path) -> None:
    (scale / "warmup").mkdir()
    (scale / "warmup" / "x.bin").write_bytes(bytes(7))
    (scale / "config.pbtxt").write_text(warmup('input_data_file: "x.bin"'))
    with pytest.raises((ModelLoadError, ConfigError), match="x.bin"):
        ai.Session(scale)
    (scale / "config.pbtxt").write_text(warmup('input_data_file: "../../x.bin"'))
    with pytest.raises((ModelLoadError, ConfigError), match="x.bin"):
        ai.Session(scale)


@pytest.mark.parametrize(
    "field", ["sequence_batching { direct {} }", "model_transaction_policy { decoupled: true }"]
)
def test_what_cannot_run_yet_is_refused_by_its_field(scale: Path, field: str) -> None:
    (scale / "config.pbtxt").write_text(CONFIG + field)
    with pytest.raises(ModelLoadError, match=field.split(" ")[0]):
        ai.Session(scale)


def test_random_warm_ups_of_every_kind_of_number(tmp_path: Path) -> None:
    kinds = {"b": "TYPE_BOOL", "i": "TYPE_INT8", "f": "TYPE_FP16", "s": "TYPE_STRING"}
    codes = {"b": TensorProto.BOOL, "i": TensorProto.INT8, "f": TensorProto.FLOAT16, "s": TensorProto.STRING}
    model = made.model_of(
        [helper.make_node("Identity", [name], [f"{name}_out"]) for name in kinds],
        [made.value(name, code, ["n", 2]) for name, code in codes.items()],
        [made.value(f"{name}_out", code, ["n", 2]) for name, code in codes.items()],
    )
    inputs = "".join(
        f'inputs {{ key: "{name}" value: {{ data_type: {kind} dims: [ 2 ] random_data: true }} }} '
        for name, kind in kinds.items()
    )
    config = f'platform: "onnxruntime_onnx" max_batch_size: 2 model_warmup [ {{ name: "w" batch_size: 1 {inputs} }} ]'
    with ai.Session(made.model_directory(tmp_path, "net", model, config)) as session:
        assert len(session.inputs) == 4


def test_a_warm_up_reads_text_in_tritons_form(tmp_path: Path) -> None:
    config = """platform: "onnxruntime_onnx" max_batch_size: 0 model_warmup [ { name: "w" batch_size: 1
        inputs { key: "x" value: { data_type: TYPE_STRING dims: [ 2 ] input_data_file: "t" } } } ]"""
    folder = made.model_directory(tmp_path, "net", made.identity(TensorProto.STRING, ["n"]), config)
    (folder / "warmup").mkdir()
    (folder / "warmup" / "t").write_bytes(b"\x02\0\0\0ab\0\0\0\0")
    with ai.Session(folder) as session:
        assert session.infer(["a"])["y"].tolist() == [b"a"]
    (folder / "warmup" / "t").write_bytes(b"\x02\0\0\0ab\x09\0\0\0")
    with pytest.raises((ModelLoadError, ConfigError), match="BYTES"):
        ai.Session(folder)
