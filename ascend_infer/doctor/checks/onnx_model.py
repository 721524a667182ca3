"""Does onnxruntime load a .onnx?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.errors import ModelFileError
from ascend_infer.onnx_file import read

__all__ = ["check_onnx"]


def check_onnx(examination: Examination, file: Path) -> Iterator[Finding]:
    """Load the model in a child process, without optimising or running it."""
    if examination.onnxruntime_version is None:
        summary = f"{file}: without onnxruntime it cannot be tried"
        yield Finding("model_file", Verdict.NOT_APPLICABLE, summary)
        return
    try:
        read(file)
    except ModelFileError as damage:
        # Said by this library's own reader, which knows what stands in a model's place: git lfs pull.
        remedy = ("git lfs pull",) if "Git LFS" in str(damage) else (f"ls -l {shlex.quote(str(file))}",)
        yield Finding("model_file", Verdict.PROBLEM, str(damage), (), remedy)
        return
    answer = examination.prober.probe("onnx", path=str(file.absolute()))
    failed = answer.failed_step
    if answer.broke:
        verdict = Verdict.WARNING if answer.out_of_time else Verdict.PROBLEM
        seconds = 120 if answer.out_of_time else 9
        remedy = (f"ascend-infer doctor --time-limit {seconds} {shlex.quote(str(file))}",)
        stderr = (Evidence("its last words", answer.stderr),) if answer.stderr else ()
        summary = f"{file}: loading it in a child process {answer.broke}"
        yield Finding("model_file", verdict, summary, stderr, remedy)
    elif failed is not None:
        error = str(failed.values.get("error", ""))
        yield Finding(
            "model_file",
            Verdict.PROBLEM,
            f"{file}: onnxruntime refuses it",
            (Evidence("error", error),),
            ("# export the model again, or update: pip install --upgrade onnxruntime",),
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
