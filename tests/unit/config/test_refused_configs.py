"""Sixty configurations with one mistake each, and two without: what Triton says of them, and what we say."""

import json
from pathlib import Path

import pytest

from ascend_infer.diagnostic import Diagnostic
from ascend_infer.lint import lint

CASES = json.loads(Path(__file__).with_name("refused_configs.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Diagnostic]]:
    root = tmp_path_factory.mktemp("repository")
    for case in CASES:
        version = root / case["name"] / "1"
        version.mkdir(parents=True)
        (version / "model.py").write_text("class TritonPythonModel:\n    pass\n")
        (version / "model.onnx").touch()
        (version.parent / "config.pbtxt").write_text("\n".join(case["config"]) + "\n")
    found: dict[str, list[Diagnostic]] = {case["name"]: [] for case in CASES}
    for diagnostic in lint(root, has_npu=False):
        assert diagnostic.file is not None
        found[Path(diagnostic.file).relative_to(root).parts[0]].append(diagnostic)
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_names_the_field_the_fact_and_the_place(case, findings):
    found = findings[case["name"]]
    if case["severity"] is None:
        assert found == []
        return
    mine = [each for each in found if each.field == case["field"] and case["fact"] in each.message]
    assert mine, f"nothing about {case['field']}: {[str(each) for each in found]}"
    assert mine[0].severity == case["severity"]
    assert mine[0].line is not None
    assert mine[0].column is not None
    line = case["config"][mine[0].line - 1]
    assert line[mine[0].column - 1 :].startswith(case["at"])


def test_whatever_triton_refuses_is_found(findings):
    silent = [case["name"] for case in CASES if case["triton"] != "loads" and not findings[case["name"]]]
    # That Triton was built without its ONNX backend.
    assert silent == ["backend_missing_lib_onnx"]


def test_there_are_as_many_cases_as_were_recorded():
    assert len(CASES) == 61
