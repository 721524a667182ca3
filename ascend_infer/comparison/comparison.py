"""What came of comparing two models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ascend_infer.comparison.agreement import OutputAgreement
from ascend_infer.comparison.finding import Finding
from ascend_infer.comparison.tolerance import Tolerance

__all__ = ["Comparison"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How well two models agree.

    Attributes
    ----------
    a, b : str
        What was compared: model, version and device.
    requests : int
    tolerance : Tolerance
    outputs : mapping of str to OutputAgreement
        By A's names; outputs that both have.
    findings : tuple of Finding
        What the difference looks like, the likeliest first.
    notes : tuple of str
        What was taken for granted: tensors paired by their place, values converted for B.
    """

    a: str
    b: str
    requests: int
    tolerance: Tolerance
    outputs: Mapping[str, OutputAgreement]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Literal["same", "close", "differs"]:
        """Same: every bit. Close: within tolerance, types may differ. Differs: the rest."""
        missing = any(finding.kind == "missing_output" for finding in self.findings)
        if missing or not all(output.within for output in self.outputs.values()):
            return "differs"
        return "same" if all(output.identical for output in self.outputs.values()) else "close"

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        head = {
            "same": "same: every output is the same, bit for bit",
            "close": "within tolerance",
            "differs": "differs",
        }[self.verdict]
        details = [finding.sentence for finding in self.findings]
        if self.verdict == "differs" and not details:
            details = [
                f"{output.outside} of {output.elements} elements of {name!r} are out of tolerance, and no usual "
                "mistake explains it"
                for name, output in self.outputs.items()
                if not output.within
            ][:1]
        return ": ".join([head, *details[:1]]) + "".join(f"; {detail}" for detail in details[1:])

    def __bool__(self) -> bool:
        """Whether they agree within tolerance."""
        return self.verdict != "differs"

    def __repr__(self) -> str:
        return f"<Comparison of {self.a} with {self.b} on {self.requests} requests: {self.sentence}>"

    def _repr_html_(self) -> str:
        from ascend_infer.comparison.shown import comparison_html

        return comparison_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        from ascend_infer.comparison.shown import comparison_json

        return comparison_json(self)
