"""Which versions of CANN, driver and firmware are here."""

from __future__ import annotations

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_versions"]


def check_versions(examination: Examination) -> Finding:
    """Collect version files and what the loaded library says of itself.

    Whether a driver is too old for a CANN only CANN's release notes know; its signs (207000, 507033, 507899)
    are told by the runtime check.
    """
    driver, answer = examination.driver, examination.runtime_answer
    cann = examination.roots[0].version if examination.roots else None
    known = [("CANN", cann), ("driver", driver.version), ("firmware", driver.firmware)]
    evidence = [Evidence(name, version) for name, version in known if version]
    if answer is not None:
        reported = (
            ("ACL interface", answer.value("aclrtGetVersion", "version")),
            ("runtime, as it says itself", answer.value("aclsysGetVersionStr runtime", "version")),
            ("driver, as the runtime reads it", answer.value("aclsysGetVersionStr driver", "version")),
        )
        evidence += [Evidence(name, version) for name, version in reported if version]
    if not evidence:
        return Finding("versions", Verdict.NOT_APPLICABLE, "neither CANN nor a driver is installed")
    summary = ", ".join(f"{item.name} {item.value}" for item in evidence[:4])
    absent = [name for name, version in known[:2] if not version]
    if absent and examination.npu_expected:
        return Finding(
            "versions",
            Verdict.WARNING,
            f"{summary}; no version file of {' and '.join(absent)} was found",
            tuple(evidence),
            ("# compare driver and CANN with CANN's release notes", "npu-smi info -t board -i 0"),
        )
    return Finding("versions", Verdict.OK, summary, tuple(evidence))
