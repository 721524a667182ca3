"""Will this model load here?"""

from __future__ import annotations

import shlex
from pathlib import Path

from ascend_infer.doctor.checks.om_model import check_om
from ascend_infer.doctor.checks.onnx_model import check_onnx
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.doctor.model_files import newest_model_files
from ascend_infer.errors import AscendInferError
from ascend_infer.types import ModelSpec

__all__ = ["check_model"]

_SHOWN = 10


def check_model(examination: Examination, path: Path) -> tuple[Finding, ...]:
    """Examine a .om, a .onnx, a model directory or a repository.

    Findings are called ``model_config`` (directories), ``model_file`` (one a file), ``model_chip`` and
    ``model_memory`` (one a .om).
    """
    if not path.exists():
        missing = Finding(
            "model_file",
            Verdict.PROBLEM,
            f"{path} is not there",
            (),
            (f"ls -l {shlex.quote(str(path.parent))}",),
        )
        return (missing,)
    findings: list[Finding] = []
    files = newest_model_files(path)
    is_version_folder = any(file.parent == path for file in files)
    if path.is_dir() and not is_version_folder:
        findings.append(_check_config(examination, path))
    if not files:
        findings.append(
            Finding("model_file", Verdict.NOT_APPLICABLE, f"no .om or .onnx in a version folder of {path}")
        )
    for file in files:
        findings += check_om(examination, file) if file.suffix == ".om" else check_onnx(examination, file)
    return tuple(findings)


def _read_spec(file: Path) -> ModelSpec:
    if file.suffix == ".om":
        from ascend_infer.om import read as read_om

        return read_om(file).spec()
    from ascend_infer.onnx_file import read as read_onnx

    return read_onnx(file).spec


def _check_config(examination: Examination, path: Path) -> Finding:
    from ascend_infer.lint import lint

    try:
        diagnostics = lint(path, read_spec=_read_spec, has_npu=bool(examination.nodes.cards))
    except (AscendInferError, OSError) as error:
        return Finding("model_config", Verdict.PROBLEM, str(error), (), (f"ls -lR {shlex.quote(str(path))}",))
    errors = [item for item in diagnostics if item.severity == "error"]
    evidence = tuple(Evidence(item.severity, str(item)) for item in diagnostics[:_SHOWN])
    if len(diagnostics) > _SHOWN:
        evidence += (Evidence("and", f"{len(diagnostics) - _SHOWN} more"),)
    if not diagnostics:
        return Finding("model_config", Verdict.OK, f"{path}: nothing to complain of")
    verdict = Verdict.PROBLEM if errors else Verdict.WARNING
    summary = f"{path}: {len(errors)} errors, {len(diagnostics) - len(errors)} warnings"
    return Finding(
        "model_config", verdict, summary, evidence, (f"ascend-infer check {shlex.quote(str(path))}",)
    )
