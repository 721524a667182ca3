"""Everything that was found, and what it comes to."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

from ascend_infer._version import __version__
from ascend_infer.doctor.finding import Finding, Verdict

__all__ = ["Report"]

#: Raised when a key changes its meaning or goes; new keys do not raise it.
SCHEMA = 1
_TITLES = {"cann": "CANN", "acl_library": "ACL library", "npu_smi": "npu-smi"}
_MARKS = {
    Verdict.OK: "ok",
    Verdict.WARNING: "WARNING",
    Verdict.PROBLEM: "PROBLEM",
    Verdict.NOT_APPLICABLE: "-",
}


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of one examination.

    Attributes
    ----------
    findings : tuple of Finding
        In the order of the checks.
    device : {"npu", "cpu", "none"}
        What ``device="auto"`` would use.
    conclusion : tuple of str
        Sentences that say what runs here, and on what.
    """

    findings: tuple[Finding, ...]
    device: str
    conclusion: tuple[str, ...]

    @property
    def usable(self) -> bool:
        """Whether models run, with nothing that has to be mended first."""
        return self.device != "none" and not any(item.verdict is Verdict.PROBLEM for item in self.findings)

    @property
    def exit_code(self) -> int:
        """0 when usable, else 1; having no NPU is no problem, warnings are none either."""
        return 0 if self.usable else 1

    def finding(self, check: str) -> Finding:
        """Return a check's finding; KeyError when it was not made."""
        for item in self.findings:
            if item.check == check:
                return item
        raise KeyError(check)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types under stable keys; every check is in it, whatever it came to."""
        return {
            "schema": SCHEMA,
            "ascend_infer": __version__,
            "usable": self.usable,
            "device": self.device,
            "conclusion": list(self.conclusion),
            "checks": [item.to_dict() for item in self.findings],
        }

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the report for a terminal: evidence and remedies of what is wrong, or of everything."""
        system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
        lines = [f"ascend-infer {__version__} doctor, {system}", ""]
        idle = [item for item in self.findings if item.verdict is Verdict.NOT_APPLICABLE and not verbose]
        shown = [item for item in self.findings if item not in idle]
        for item in shown:
            lines.append(f"{_MARKS[item.verdict]:8} {_title(item.check):18} {item.summary}")
            if verbose or item.verdict in (Verdict.WARNING, Verdict.PROBLEM):
                for evidence in item.evidence:
                    first, *rest = evidence.value.splitlines() or [""]
                    lines.append(f"           {evidence.name}: {first}")
                    lines += [f"             {line}" for line in rest]
                lines += [
                    f"           {line}" if line.startswith("#") else f"         $ {line}"
                    for line in item.remedy
                ]
        if idle:
            lines += ["", "Nothing to say of:"]
            lines += [f"  {_title(item.check):18} {item.summary}" for item in idle]
        lines += ["", *self.conclusion]
        return "\n".join(_printable(line) for line in lines) + "\n"


def _title(check: str) -> str:
    return _TITLES.get(check) or check.replace("_", " ")


def _printable(line: str) -> str:
    """Keep what logs and variables hold from steering the terminal."""
    if line.isprintable():
        return line
    return "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode()
        for char in line
    )
