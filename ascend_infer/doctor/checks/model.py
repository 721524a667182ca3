"""Will this model load here?"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.doctor.model_files import newest_model_files
from ascend_infer.errors import AscendInferError, ModelFileError
from ascend_infer.om import OmModel

__all__ = ["check_model"]

_MIB = 1 << 20
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
    if path.is_dir():
        findings.append(_check_config(path))
    files = newest_model_files(path)
    if not files:
        findings.append(
            Finding("model_file", Verdict.NOT_APPLICABLE, f"no .om or .onnx in a version folder of {path}")
        )
    for file in files:
        findings += _check_om(examination, file) if file.suffix == ".om" else _check_onnx(examination, file)
    return tuple(findings)


def _check_config(path: Path) -> Finding:
    from ascend_infer.lint import lint

    try:
        diagnostics = lint(path)
    except (AscendInferError, OSError) as error:
        return Finding("model_config", Verdict.PROBLEM, str(error))
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


def _check_om(examination: Examination, file: Path) -> Iterator[Finding]:
    from ascend_infer.om import read

    try:
        model = read(file)
    except ModelFileError as error:
        yield Finding("model_file", Verdict.PROBLEM, str(error), (Evidence("file", str(file)),))
        return
    evidence = (
        Evidence("made for", model.soc_version or "unknown chip"),
        Evidence("weights", f"{model.weight_size:,} bytes"),
        Evidence("workspace", f"{model.work_size:,} bytes"),
    )
    if model.is_simulator_model:
        yield Finding(
            "model_file", Verdict.OK, f"{file}: a model for the simulator, no card takes it", evidence
        )
        return
    yield _check_place(examination, file, model, evidence)
    yield _check_chip(examination, file, model)
    yield _check_memory(examination, file, model)


def _check_place(
    examination: Examination, file: Path, model: OmModel, evidence: tuple[Evidence, ...]
) -> Finding:
    """Say whether a real .om has anything to run on."""
    chip = model.soc_version or "unknown chip"
    twins = (file.with_suffix(".onnx"), file.with_name("model.onnx"))
    if examination.npu_usable or any(twin.is_file() for twin in twins):
        return Finding("model_file", Verdict.OK, f"{file}: made for {chip}", evidence)
    return Finding(
        "model_file",
        Verdict.WARNING,
        f"{file}: made for {chip}, runs on a card only; without one it needs the model it was made from",
        evidence,
        (f"cp /path/to/model.onnx {shlex.quote(str(twins[1]))}",),
    )


def _check_chip(examination: Examination, file: Path, model: OmModel) -> Finding:
    answer = examination.runtime_answer
    device = answer.value("aclrtGetSocName", "soc") if answer else None
    if not device or not model.soc_version:
        return Finding("model_chip", Verdict.NOT_APPLICABLE, f"{file}: no chip to compare with")
    evidence = (Evidence("model", model.soc_version), Evidence("device", device))
    remedy = (f"atc --model=model.onnx --framework=5 --output=model --soc_version={device}",)
    asked = model.soc_version == examination.model_soc
    compatible = answer.value("aclrtCheckArchCompatibility", "compatible") if answer and asked else None
    # CANN compares architectures, not names, and knows best; without its word only the names are left.
    same = _chip_family(model.soc_version) == _chip_family(device)
    if compatible or (compatible is None and same):
        return Finding("model_chip", Verdict.OK, f"{model.soc_version} model on {device}", evidence)
    verdict = Verdict.WARNING
    if compatible is False or _chip_number(model.soc_version) != _chip_number(device):
        verdict = Verdict.PROBLEM
    summary = (
        f"{file} was compiled for {model.soc_version}, the device is {device}: it will be refused (545002)"
    )
    return Finding("model_chip", verdict, summary, evidence, remedy)


def _chip_number(soc: str) -> str:
    match = re.match(r"(?:Ascend)?(\d+)", soc, re.IGNORECASE)
    return match.group(1) if match else soc.lower()


def _chip_family(soc: str) -> str:
    """``Ascend310P3`` -> 310p, ``Ascend910B4`` -> 910b, ``Ascend910_9391`` -> 910_93; old 910B -> 910."""
    match = re.match(r"(?:Ascend)?(\d+)(_\d\d|[A-Za-z](?=\d))?", soc, re.IGNORECASE)
    return (match.group(1) + (match.group(2) or "")).lower() if match else soc.lower()


def _check_memory(examination: Examination, file: Path, model: OmModel) -> Finding:
    answer = examination.runtime_answer
    free = answer.value("aclrtGetMemInfo", "free") if answer else None
    total = answer.value("aclrtGetMemInfo", "total") if answer else None
    needed = model.work_size + model.weight_size
    if free is None or total is None:
        return Finding(
            "model_memory",
            Verdict.NOT_APPLICABLE,
            f"{file}: needs {needed // _MIB:,} MiB on a card, none to compare with",
        )
    evidence = (
        Evidence("weights, once a card", f"{model.weight_size:,} bytes"),
        Evidence("workspace, each instance", f"{model.work_size:,} bytes"),
        Evidence("free", f"{free:,} of {total:,} bytes"),
    )
    if needed > free:
        return Finding(
            "model_memory",
            Verdict.PROBLEM,
            f"{file} needs {needed // _MIB:,} MiB, free are {free // _MIB:,} of {total // _MIB:,} MiB",
            evidence,
            ("npu-smi info   # shows who holds it; fewer instances or a smaller max_batch_size need less",),
        )
    instances = 1 + (free - needed) // model.work_size if model.work_size else None
    fits = f", at most {instances:,} instances fit" if instances else ""
    return Finding(
        "model_memory", Verdict.OK, f"{needed // _MIB:,} of {free // _MIB:,} MiB free{fits}", evidence
    )


def _check_onnx(examination: Examination, file: Path) -> Iterator[Finding]:
    if examination.onnxruntime_version is None:
        summary = f"{file}: without onnxruntime it cannot be tried"
        yield Finding("model_file", Verdict.NOT_APPLICABLE, summary)
        return
    answer = examination.prober.probe("onnx", path=str(file.absolute()))
    failed = answer.failed_step
    if answer.broke:
        verdict = Verdict.WARNING if "hung" in answer.broke or "started" in answer.broke else Verdict.PROBLEM
        remedy = (
            (f"ascend-infer doctor --time-limit 120 {shlex.quote(str(file))}",)
            if verdict is Verdict.WARNING
            else ()
        )
        stderr = (Evidence("its last words", answer.stderr),) if answer.stderr else ()
        summary = f"{file}: loading it in a child process {answer.broke}"
        yield Finding("model_file", verdict, summary, stderr, remedy)
    elif failed is not None:
        error = str(failed.values.get("error", ""))
        yield Finding(
            "model_file", Verdict.PROBLEM, f"{file}: onnxruntime refuses it", (Evidence("error", error),)
        )
    else:
        seconds = answer.value("load the model", "seconds")
        inputs = answer.value("load the model", "inputs") or ()
        outputs = answer.value("load the model", "outputs") or ()
        evidence = (
            *(Evidence("input", item) for item in inputs),
            *(Evidence("output", item) for item in outputs),
        )
        yield Finding("model_file", Verdict.OK, f"{file}: onnxruntime loads it in {seconds:.1f} s", evidence)
