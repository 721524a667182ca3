"""Does ACL start, count a device and copy to it? Tried in a child process."""

from __future__ import annotations

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.doctor.prober import ProbeAnswer, ProbeStep
from ascend_infer.doctor.symptoms import symptom_of

__all__ = ["check_runtime"]

_MIB = 1 << 20
_DRIVER_TOO_OLD = (207000, 507033, 507899)


def check_runtime(examination: Examination) -> Finding:
    """Report how far a child came: aclInit, count, set, name, memory, a copy there and back."""
    answer = examination.runtime_answer
    if answer is None:
        return Finding("runtime", Verdict.NOT_APPLICABLE, "no library that could be tried")
    told = ((step.name, _told(step.values)) for step in answer.steps if step.ok)
    evidence = [Evidence(name, values) for name, values in told if values]
    if answer.broke or _failed(answer) is not None:
        return _failure(examination, answer, evidence)
    count = answer.value("aclrtGetDeviceCount", "count")
    soc = answer.value("aclrtGetSocName", "soc") or "devices"
    free, total = (answer.value("aclrtGetMemInfo", key) for key in ("free", "total"))
    memory = f", {free // _MIB:,} of {total // _MIB:,} MiB free" if total else ""
    start = answer.value("aclrtSetDevice", "seconds") or 0.0
    simulated = "simulated " if examination.library_is_simulator else ""
    summary = (
        f"{count} x {simulated}{soc}{memory}; device {examination.device_index} started in {start:.1f} s"
    )
    return Finding("runtime", Verdict.OK, summary, tuple(evidence))


#: Steps without which nothing runs; the others only tell.
_VITAL = ("aclInit", "aclrtGetDeviceCount", "aclrtSetDevice", "copy to the device and back")


def _failed(answer: ProbeAnswer) -> ProbeStep | None:
    """Return the first step that nothing runs without and that did not end well or was never reached."""
    for step in answer.steps:
        if not step.ok and (step.name in _VITAL or step.name.startswith("load ")):
            return step
    missed = next((name for name in _VITAL if answer.step(name) is None), None)
    return None if missed is None else ProbeStep(missed, False, False, {"error": "it was not reached"})


def _told(values: dict[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if key not in ("path", "seconds"))


def _failure(examination: Examination, answer: ProbeAnswer, evidence: list[Evidence]) -> Finding:
    severity = examination.library_severity
    if answer.broke:
        evidence.append(Evidence("child process", answer.broke))
        if answer.stderr:
            evidence.append(Evidence("its last words", answer.stderr))
        remedy = ["ascend-infer doctor --time-limit 60   # a first start of a card may take seconds"]
        if not answer.out_of_time:
            remedy = ["grep -h '\\[ERROR\\]' ~/ascend/log/debug/plog/*.log | tail"]
        return Finding(
            "runtime",
            severity,
            f"trying ACL in a child process {answer.broke}",
            tuple(evidence),
            tuple(remedy),
        )
    failed = _failed(answer)
    assert failed is not None
    code = failed.values.get("code")
    if code is None:
        words = str(failed.values.get("error", "no reason given"))
        look = "ls -l /dev/davinci*; echo $ASCEND_RT_VISIBLE_DEVICES"
        if failed.values.get("function"):
            name = failed.values["function"]
            words = words if name == failed.name else f"{words}: {name}"
            look = examination.set_env_command()
        return Finding("runtime", severity, f"{failed.name}: {words}", tuple(evidence), (look,))
    symptom = symptom_of(int(code))
    function = failed.values.get("function", failed.name)
    evidence.append(Evidence(f"{function}", f"{code} {symptom.name}"))
    if failed.values.get("text"):
        evidence.append(Evidence("aclGetRecentErrMsg", str(failed.values["text"])))
    if code in _DRIVER_TOO_OLD:
        driver = examination.driver.version or "of unknown version"
        cann = examination.roots[0].version if examination.roots else None
        evidence.append(Evidence("pair", f"driver {driver} with CANN {cann or 'of unknown version'}"))
    remedy_line = symptom.remedy
    if "<CANN>" in remedy_line:
        remedy_line = examination.set_env_command()
    return Finding(
        "runtime",
        severity,
        f"{function} answers {code} ({symptom.name}): {symptom.cause}",
        tuple(evidence),
        (remedy_line,),
    )
