"""Do other installed packages stand in the way?"""

from __future__ import annotations

import re
from importlib.metadata import distributions

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_packages"]

#: Distributions that install the same import package ``onnxruntime`` over each other.
_ONNXRUNTIME = re.compile(r"(ort-nightly|onnxruntime)(-cann|-gpu|-directml|-openvino|-qnn|-rocm|-training)?")


def check_packages(examination: Examination) -> Finding:
    """Look for packages that share a name with something else.

    PyPI's ``pyacl`` is about access control lists; Huawei's ``acl`` module comes with CANN only.
    """
    installed: dict[str, str] = {}
    for distribution in distributions(path=[str(path) for path in examination.environment.module_path]):
        fields = distribution.metadata
        if "Name" in fields and "Version" in fields:  # else it is damaged
            name = re.sub(r"[-_.]+", "-", str(fields["Name"])).lower()
            installed.setdefault(name, str(fields["Version"]))
    runtimes = sorted(name for name in installed if _ONNXRUNTIME.fullmatch(name))
    evidence = [Evidence(name, installed[name]) for name in runtimes]
    complaints: list[str] = []
    remedy: list[str] = []
    if "pyacl" in installed:
        evidence.append(Evidence("pyacl", installed["pyacl"]))
        complaints.append("PyPI's pyacl is not Huawei's: the `acl` module comes with CANN only")
        remedy.append("pip uninstall pyacl")
    if len(runtimes) > 1:
        complaints.append(f"{' and '.join(runtimes)} install the same package over each other")
        others = " ".join(name for name in runtimes if name != "onnxruntime")
        remedy += [
            "# keep one; removing one breaks what is left, so install that again:",
            f"pip uninstall {others} && pip install --force-reinstall onnxruntime",
        ]
    if complaints:
        return Finding("packages", Verdict.WARNING, "; ".join(complaints), tuple(evidence), tuple(remedy))
    if runtimes and runtimes != ["onnxruntime"]:
        return Finding(
            "packages",
            Verdict.OK,
            f"{runtimes[0]} stands in for onnxruntime; its CPU provider is used",
            tuple(evidence),
        )
    return Finding("packages", Verdict.OK, "no package stands in the way", tuple(evidence))
