"""What Python has installed: the compiled parts, onnxruntime, packages that stand in the way."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ascend_infer.doctor.bounded_process import Deadline
from ascend_infer.doctor.checks import CHECKS
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Finding, Verdict
from ascend_infer.doctor.prober import ProbeLimits, Prober

MakeElf = Callable[..., bytes]


def look(examination: Any, check: str) -> Finding:
    return CHECKS[check](examination)


def suffix() -> str:
    from importlib.machinery import EXTENSION_SUFFIXES

    return EXTENSION_SUFFIXES[0]


@pytest.mark.parametrize(
    ("device", "runs_on_the_cpu", "verdict"),
    [
        ("auto", True, Verdict.WARNING),
        ("cpu", True, Verdict.WARNING),
        ("auto", False, Verdict.PROBLEM),
        ("npu", True, Verdict.PROBLEM),
        ("sim", True, Verdict.PROBLEM),
    ],
)
@pytest.mark.parametrize("other_python", [False, True])
def test_a_missing_extension_is_a_problem_for_who_needs_it(
    machine: Any, make_elf: MakeElf, device: str, runs_on_the_cpu: bool, verdict: Verdict, other_python: bool
) -> None:
    if other_python:
        (machine.package / "_native.cpython-39-sparc-linux-gnu.so").write_bytes(make_elf())
    lines = imported(ok=runs_on_the_cpu, version="1.30.0" if runs_on_the_cpu else "")
    finding = look(answering(machine, *lines, device=device), "extension")
    assert finding.verdict is verdict
    assert ("another Python" if other_python else "not built") in finding.summary
    assert finding.remedy


def test_a_source_tree_is_told_to_build(machine: Any) -> None:
    (machine.package.parent / "_ext").mkdir()
    (machine.package.parent / "setup.py").touch()
    assert "pip install -e " in look(machine.examination(), "extension").remedy[0]


def test_an_extension_for_this_python(machine: Any, make_elf: MakeElf) -> None:
    (machine.package / f"_native{suffix()}").write_bytes(make_elf())
    assert look(machine.examination(), "extension").verdict is Verdict.OK


def test_the_simulators_library(machine: Any, make_elf: MakeElf) -> None:
    folder = machine.package / "simulator"
    folder.mkdir()
    (folder / "libascendcl_sim.so").write_bytes(make_elf())
    assert look(machine.examination(), "simulator").verdict is Verdict.OK
    other = machine.examination(arch="riscv64")
    assert look(other, "simulator").verdict is Verdict.WARNING
    assert look(machine.examination(arch="riscv64", device="sim"), "simulator").verdict is Verdict.PROBLEM
    (folder / "libascendcl_sim.so").write_bytes(b"")
    assert "empty" in look(machine.examination(), "simulator").summary
    (folder / "libascendcl_sim.so").unlink()
    assert look(machine.examination(), "simulator").verdict is Verdict.NOT_APPLICABLE
    assert look(machine.examination(device="sim"), "simulator").verdict is Verdict.PROBLEM


@pytest.mark.parametrize(
    ("installed", "verdict", "words"),
    [
        ((), Verdict.OK, "nothing|no package"),
        (("onnxruntime",), Verdict.OK, "no package"),
        (("onnxruntime-gpu",), Verdict.OK, "stands in"),
        (("onnxruntime", "onnxruntime-cann"), Verdict.WARNING, "over each other"),
        (("onnxruntime", "onnxruntime_gpu"), Verdict.WARNING, "onnxruntime-gpu"),
        (("onnxruntime", "onnxruntime-extensions", "onnxruntime-genai"), Verdict.OK, "no package"),
        (("pyacl",), Verdict.WARNING, "pyacl"),
        (("PyACL", "onnxruntime", "onnxruntime-cann"), Verdict.WARNING, "pyacl"),
    ],
)
def test_packages_in_the_way(machine: Any, installed: tuple[str, ...], verdict: Verdict, words: str) -> None:
    for name in installed:
        machine.distribution(name)
    finding = look(machine.examination(), "packages")
    assert finding.verdict is verdict
    assert any(word in finding.summary for word in words.split("|"))
    assert bool(finding.remedy) == (verdict is not Verdict.OK)


def test_damaged_metadata_is_passed_over(machine: Any) -> None:
    (machine.modules / "broken-1.dist-info").mkdir()
    machine.distribution("pyacl")
    assert look(machine.examination(), "packages").verdict is Verdict.WARNING


def answering(machine: Any, *lines: dict[str, Any], code: str = "", device: str = "auto") -> Examination:
    text = "\n".join(json.dumps(line) for line in lines)
    command = (sys.executable, "-c", f"print({text!r}); {code}")
    environment = machine.environment()
    prober = Prober(environment, Deadline(120), ProbeLimits(60, 60), command)
    return Examination(environment, prober, device)


def imported(**values: Any) -> tuple[dict[str, Any], ...]:
    name = "import onnxruntime"
    return {"begin": name}, {"end": name, **values}, {"finished": True}


def test_onnxruntime_that_imports(machine: Any) -> None:
    lines = imported(ok=True, version="1.30.0", providers=["CPUExecutionProvider"], file="/x.py")
    examination = answering(machine, *lines)
    finding = look(examination, "onnxruntime")
    assert finding.verdict is Verdict.OK
    assert "1.30.0" in finding.summary


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("ModuleNotFoundError: No module named 'onnxruntime'", "not installed"),
        ("ImportError: libascendcl.so: cannot open shared object file", "cannot be imported"),
    ],
)
def test_onnxruntime_that_does_not_import(machine: Any, error: str, words: str) -> None:
    finding = look(answering(machine, *imported(ok=False, error=error)), "onnxruntime")
    assert finding.verdict is Verdict.PROBLEM
    assert words in finding.summary
    assert finding.remedy
    # Who asks for an NPU does without.
    finding = look(answering(machine, *imported(ok=False, error=error), device="npu"), "onnxruntime")
    assert finding.verdict is Verdict.WARNING


def test_onnxruntime_that_breaks_its_process(machine: Any) -> None:
    examination = answering(machine, {"begin": "import onnxruntime"}, code="import os; os.abort()")
    finding = look(examination, "onnxruntime")
    assert finding.verdict is Verdict.PROBLEM
    assert "child process" in finding.summary
