"""Can onnxruntime, which runs models on the CPU, be imported?"""

from __future__ import annotations

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_onnxruntime"]

_INSTALL = "pip install 'ascend-infer[cpu]'"


def check_onnxruntime(examination: Examination) -> Finding:
    """Import it in a child process: a build for another device may fail or abort on its libraries."""
    answer = examination.onnxruntime_answer
    version = examination.onnxruntime_version
    if version:
        providers = ", ".join(answer.value("import onnxruntime", "providers") or ())
        file = str(answer.value("import onnxruntime", "file"))
        evidence = (Evidence("file", file), Evidence("providers", providers))
        return Finding("onnxruntime", Verdict.OK, f"onnxruntime {version} runs models on the CPU", evidence)
    # Where an NPU does the work nothing needs it; else nothing runs.
    on_npu = examination.npu_asked_for or (examination.npu_usable and examination.device == "auto")
    verdict = Verdict.WARNING if on_npu else Verdict.PROBLEM
    if answer.broke:
        stderr = (Evidence("its last words", answer.stderr),) if answer.stderr else ()
        summary = f"importing onnxruntime in a child process {answer.broke}"
        return Finding("onnxruntime", verdict, summary, stderr, (_INSTALL,))
    error = str(answer.value("import onnxruntime", "error") or "")
    if error.startswith("ModuleNotFoundError: No module named 'onnxruntime'"):
        return Finding(
            "onnxruntime",
            verdict,
            "onnxruntime is not installed, models cannot run on the CPU",
            (Evidence("python", examination.environment.executable),),
            (_INSTALL,),
        )
    return Finding(
        "onnxruntime",
        verdict,
        "onnxruntime is installed and cannot be imported",
        (Evidence("error", error),),
        (f"pip install --force-reinstall onnxruntime   # or {_INSTALL}",),
    )
