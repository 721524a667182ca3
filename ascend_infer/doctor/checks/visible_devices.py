"""Does ASCEND_RT_VISIBLE_DEVICES leave the cards that were meant?"""

from __future__ import annotations

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.doctor.visible_devices import parse_visible_devices

__all__ = ["check_visible_devices"]


def check_visible_devices(examination: Examination) -> Finding:
    """Read the variable as the runtime does."""
    value = examination.environment.variables.get("ASCEND_RT_VISIBLE_DEVICES")
    if value is None:
        return Finding("visible_devices", Verdict.NOT_APPLICABLE, "ASCEND_RT_VISIBLE_DEVICES is not set")
    count = len(examination.nodes.cards) or None
    evidence = [Evidence("ASCEND_RT_VISIBLE_DEVICES", repr(value))]
    if count:
        evidence.append(Evidence("cards", str(count)))
    read = parse_visible_devices(value, count)
    listed = ", ".join(map(str, read.used))
    if read.mistake is None:
        summary = f"cards {listed}, numbered from 0 here; npu-smi's numbers are others"
        return Finding("visible_devices", Verdict.OK, summary, tuple(evidence))
    left = f"only {listed} would be used" if read.used else "no card is left (207004)"
    example = ",".join(map(str, read.used or range(min(count or 1, 2))))
    return Finding(
        "visible_devices",
        examination.severity,
        f"ASCEND_RT_VISIBLE_DEVICES is malformed: {read.mistake}; {left}",
        tuple(evidence),
        (f"export ASCEND_RT_VISIBLE_DEVICES={example}   # ascending, no blanks, nothing twice; or unset it",),
    )
