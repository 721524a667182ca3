"""Does a .om fit the card: its chip, its memory? And without a card, is there anything to run it on?"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.errors import ModelFileError
from ascend_infer.om import OmModel

__all__ = ["check_chip", "check_memory", "check_om"]

_MIB = 1 << 20


def check_om(examination: Examination, file: Path) -> Iterator[Finding]:
    """Read the file and compare it with what the probes found."""
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
    yield check_chip(examination, file, model)
    yield check_memory(examination, file, model)


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


def check_chip(examination: Examination, file: Path, model: OmModel) -> Finding:
    """Compare the chip the model was compiled for with the device's name, or let CANN compare."""
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


def check_memory(examination: Examination, file: Path, model: OmModel) -> Finding:
    """Compare weights and workspace with the device's free memory."""
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
