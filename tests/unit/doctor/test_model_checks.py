from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ascend_infer.doctor.checks.model import check_model
from ascend_infer.doctor.checks.om_model import check_chip, check_memory
from ascend_infer.doctor.finding import Finding, Verdict
from ascend_infer.doctor.model_files import newest_model_files
from ascend_infer.om import OmModel, write_simulator_model
from ascend_infer.types import DataType, TensorSpec

Acl = Callable[..., Path]
FILE = Path("model.om")
SPEC = (TensorSpec("x", DataType.FP32, (1, 4)),)

# Its presence is asked of importlib: the tests' own process does not import it.
needs_onnxruntime = pytest.mark.skipif(
    find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)


def om(**values: Any) -> OmModel:
    soc = values.pop("soc", None)
    model = OmModel(path=None, kind="model", file_size=0, name="m", **values)
    return replace(model, attributes={"soc_version": soc}) if soc else model


def by_name(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


def onnx_bytes(shape: tuple[int, ...] = (1, 4)) -> bytes:
    onnx = pytest.importorskip("onnx", reason="the onnx package, which makes test models")
    helper = onnx.helper
    value = [helper.make_tensor_value_info(name, 1, list(shape)) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data: bytes = model.SerializeToString()
    return data


@pytest.mark.parametrize(
    ("model", "device", "verdict"),
    [
        ("Ascend310P3", "Ascend310P3", Verdict.OK),
        ("Ascend310P1", "Ascend310P3", Verdict.OK),
        ("Ascend910B1", "Ascend910B4", Verdict.OK),
        ("Ascend910_9391", "Ascend910_9362", Verdict.OK),
        ("Ascend910B4", "Ascend910_9362", Verdict.WARNING),
        ("Ascend910A", "Ascend910B3", Verdict.WARNING),
        ("Ascend310B4", "Ascend310P3", Verdict.WARNING),
        ("Ascend910B3", "Ascend310P3", Verdict.PROBLEM),
        ("Ascend310P3", "AscendInferSim", Verdict.PROBLEM),
    ],
)
def test_chips_are_compared_by_family(
    machine: Any, acl_library: Acl, model: str, device: str, verdict: Verdict
) -> None:
    name = f'const char *aclrtGetSocName(void) {{ return "{device}"; }}'
    machine.working(acl_library({"aclrtGetSocName": name}))
    finding = check_chip(machine.examination(), FILE, om(soc=model))
    assert finding.verdict is verdict
    assert verdict is Verdict.OK or f"--soc_version={device}" in finding.remedy[0]


@pytest.mark.parametrize("compatible", [True, False])
def test_cann_itself_knows_best(machine: Any, acl_library: Acl, compatible: bool) -> None:
    answer = f"int aclrtCheckArchCompatibility(const char *s, int *c) {{ *c = {int(compatible)}; return 0; }}"
    machine.working(acl_library(extra=answer))
    soc = "Ascend910B3" if compatible else "Ascend310P3"
    finding = check_chip(machine.examination(model_soc=soc), FILE, om(soc=soc))
    assert finding.verdict is (Verdict.OK if compatible else Verdict.PROBLEM)


def test_old_files_and_absent_cards_cannot_be_compared(machine: Any, acl_library: Acl) -> None:
    assert check_chip(machine.examination(), FILE, om(soc="Ascend310P3")).verdict is Verdict.NOT_APPLICABLE
    assert check_memory(machine.examination(), FILE, om()).verdict is Verdict.NOT_APPLICABLE
    machine.working(acl_library())
    assert check_chip(machine.examination(), FILE, om()).verdict is Verdict.NOT_APPLICABLE


def test_memory_is_compared_with_what_is_free(machine: Any, acl_library: Acl) -> None:
    machine.working(acl_library())  # 3 of 4 GiB free
    examination = machine.examination()
    gib = 1 << 30
    assert check_memory(examination, FILE, om(weight_size=3 * gib, work_size=gib)).verdict is Verdict.PROBLEM
    finding = check_memory(examination, FILE, om(weight_size=gib, work_size=gib // 2))
    assert finding.verdict is Verdict.OK
    assert "at most 4 instances" in finding.summary
    assert check_memory(examination, FILE, om(weight_size=gib)).verdict is Verdict.OK


def test_a_path_that_is_not_there(machine: Any, tmp_path: Path) -> None:
    (finding,) = check_model(machine.examination(), tmp_path / "none.om")
    assert finding.verdict is Verdict.PROBLEM


def test_a_damaged_om_is_a_problem_with_a_reason(machine: Any, tmp_path: Path) -> None:
    file = tmp_path / "model.om"
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    (finding,) = check_model(machine.examination(), file)
    assert finding.verdict is Verdict.PROBLEM
    assert str(file) in finding.summary


def test_a_simulator_model_is_recognised(machine: Any, tmp_path: Path) -> None:
    file = tmp_path / "model.om"
    write_simulator_model(file, onnx=b"never read here", inputs=SPEC, outputs=SPEC)
    (finding,) = check_model(machine.examination(), file)
    assert finding.verdict is Verdict.OK
    assert "simulator" in finding.summary


def test_a_repository_is_examined_at_its_newest_versions(machine: Any, tmp_path: Path) -> None:
    for name in (
        "a/1/model.om",
        "a/2/model.onnx",
        "a/10/model.om",
        "b/1/model.onnx",
        "b/x/model.om",
        "b/2/notes.txt",
    ):
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    names = [
        str(file.relative_to(tmp_path / "repository")) for file in newest_model_files(tmp_path / "repository")
    ]
    assert names == ["a/10/model.om", "b/1/model.onnx"]
    assert newest_model_files(tmp_path / "repository" / "a" / "2") == (
        tmp_path / "repository/a/2/model.onnx",
    )
    assert newest_model_files(tmp_path / "none") == (tmp_path / "none",)


@needs_onnxruntime
def test_a_model_directory_is_linted_and_its_file_loaded(machine: Any, tmp_path: Path) -> None:
    folder = tmp_path / "relu"
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.onnx").write_bytes(onnx_bytes())
    config = folder / "config.pbtxt"
    config.write_text('backend: "onnxruntime"\ninput { name: "x" data_type: TYPE_FP32 dims: [1, 4] }\n'
                      'output { name: "y" data_type: TYPE_FP32 dims: [1, 4] }\n')  # fmt: skip
    findings = by_name(check_model(machine.examination(), folder))
    assert findings["model_config"].verdict is Verdict.OK, findings
    assert findings["model_file"].verdict is Verdict.OK
    config.write_text(config.read_text().replace('"x"', '"wrong"') + "max_batch_sise: 1\n")
    finding = by_name(check_model(machine.examination(), folder))["model_config"]
    assert finding.verdict is Verdict.PROBLEM
    assert any("max_batch_sise" in item.value for item in finding.evidence)


@needs_onnxruntime
def test_an_onnx_that_onnxruntime_refuses(machine: Any, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(onnx_bytes().replace(b"Relu", b"Nope"))
    (finding,) = check_model(machine.examination(), file)
    assert finding.verdict is Verdict.PROBLEM
    assert "refuses" in finding.summary


@needs_onnxruntime
@pytest.mark.parametrize(
    ("content", "words", "remedy"),
    [
        (b"\x08\x09rubbish", "damaged", "ls -l"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer", "git lfs pull"),
        (None, "it is a pipe", "ls -l"),
    ],
)
def test_an_onnx_file_that_is_none(
    machine: Any, tmp_path: Path, content: bytes | None, words: str, remedy: str
) -> None:
    file = tmp_path / "model.onnx"
    os.mkfifo(file) if content is None else file.write_bytes(content)
    (finding,) = check_model(machine.examination(), file)
    assert finding.verdict is Verdict.PROBLEM
    assert words in finding.summary
    assert finding.remedy[0].startswith(remedy)


def test_an_onnx_without_onnxruntime_is_not_tried(machine: Any, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.touch()
    examination = machine.examination(command=(sys.executable, "-c", ""))
    (finding,) = check_model(examination, file)
    assert finding.verdict is Verdict.NOT_APPLICABLE
