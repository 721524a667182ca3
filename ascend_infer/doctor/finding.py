"""What one check found: a verdict, what it rests on, what to type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["Evidence", "Finding", "Verdict"]


class Verdict(Enum):
    """How a check came out; the value is what reports print."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fact that a verdict rests on: a path, a value, a version, a loader's own words."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's outcome.

    Attributes
    ----------
    check : str
        Stable name for programs, ``"device_nodes"``.
    verdict : Verdict
        PROBLEM is what the user must mend before models run as asked.
    summary : str
        One sentence.
    evidence : tuple of Evidence
    remedy : tuple of str
        Commands to type, in order; a line that begins with ``#`` explains.
    """

    check: str
    verdict: Verdict
    summary: str
    evidence: tuple[Evidence, ...] = ()
    remedy: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, keys in a fixed order."""
        return {
            "check": self.check,
            "verdict": self.verdict.value,
            "summary": self.summary,
            "evidence": [{"name": item.name, "value": item.value} for item in self.evidence],
            "remedy": list(self.remedy),
        }
