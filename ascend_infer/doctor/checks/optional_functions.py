"""Which newer functions does this CANN lack?"""

from __future__ import annotations

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.doctor.symbols import OPTIONAL

__all__ = ["check_optional_functions"]


def check_optional_functions(examination: Examination) -> Finding:
    """Name missing functions with the first CANN that has them; none of them is needed to run a model."""
    answer = examination.library_answer
    missing = answer.value("look up functions", "missing") if answer else None
    if missing is None:
        return Finding("optional_functions", Verdict.NOT_APPLICABLE, "no library was loaded")
    evidence = tuple(
        Evidence(f"CANN {release}", ", ".join(absent))
        for release, names in OPTIONAL.items()
        if (absent := [name for name in names if name in missing])
    )
    if not evidence:
        return Finding("optional_functions", Verdict.OK, "all newer functions are there")
    count = sum(len(item.value.split(", ")) for item in evidence)
    first = evidence[0].name
    return Finding(
        "optional_functions",
        Verdict.OK,
        f"{count} newer functions are absent; {first} brings the first",
        evidence,
    )
