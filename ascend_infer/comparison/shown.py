"""A comparison as lines, HTML and JSON."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ascend_infer.html import table

if TYPE_CHECKING:
    from ascend_infer.comparison.agreement import OutputAgreement
    from ascend_infer.comparison.comparison import Comparison

__all__ = ["HEAD", "comparison_html", "comparison_json", "output_row"]

#: Columns of :func:`output_row`.
HEAD = (
    "output",
    "type",
    "shape",
    "cosine",
    "max abs",
    "max rel",
    "out of tolerance",
    "same class",
    "NaN, inf",
)


def output_row(output: OutputAgreement) -> tuple[str, ...]:
    """Return one output's cells."""
    shapes = ["x".join(map(str, shape)) or "one value" for shape in output.shapes]
    name = output.name if output.name == output.other_name else f"{output.name}, {output.other_name}"
    if output.not_finite == (0, 0, 0):
        not_finite = "none"
    else:
        in_a, in_b, apart = output.not_finite
        not_finite = f"{in_a} in A, {in_b} in B, {apart or 'none'} apart"
    numeric = output.cosine is not None and output.elements > 0
    return (
        name,
        output.types[0] if output.same_type else f"{output.types[0]}, {output.types[1]}",
        shapes[0] if output.same_shape else f"{shapes[0]}, {shapes[1]}",
        f"{output.cosine:.8f}" if numeric else "-",
        f"{output.max_abs:.3g}" if numeric else "-",
        f"{output.max_rel:.3g}" if numeric else "-",
        f"{output.outside} of {output.elements}",
        f"{output.same_class} of {output.rows}" if output.rows else "-",
        not_finite if numeric else "-",
    )


def comparison_html(comparison: Comparison) -> str:
    """Show a comparison in a notebook."""
    rows = [output_row(output) for output in comparison.outputs.values()]
    notes = "".join(f"<br><small>{escape(note)}</small>" for note in comparison.notes)
    return (
        f"<p>A: <b>{escape(comparison.a)}</b><br>B: <b>{escape(comparison.b)}</b><br>"
        f"{comparison.requests} requests<br><b>{escape(comparison.sentence)}</b>{notes}</p>"
        + table(HEAD, rows)
    )


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return plain JSON types."""
    return {
        "a": comparison.a,
        "b": comparison.b,
        "requests": comparison.requests,
        "rtol": comparison.tolerance.rtol,
        "atol": comparison.tolerance.atol,
        "verdict": comparison.verdict,
        "sentence": comparison.sentence,
        "findings": [
            {
                "kind": finding.kind,
                "sentence": finding.sentence,
                "verified": finding.verified,
                "tensor": finding.tensor,
            }
            for finding in comparison.findings
        ],
        "notes": list(comparison.notes),
        "outputs": {name: _output(output) for name, output in comparison.outputs.items()},
    }


def _output(output: OutputAgreement) -> dict[str, Any]:
    return {
        "name_b": output.other_name,
        "types": list(output.types),
        "shapes": [list(shape) for shape in output.shapes],
        "elements": output.elements,
        "identical": output.identical,
        "within": output.within,
        "out_of_tolerance": output.outside,
        "cosine": output.cosine,
        "max_abs": output.max_abs,
        "max_rel": output.max_rel,
        "worst_of_largest": output.worst,
        "not_finite": dict(zip(("a", "b", "apart"), output.not_finite, strict=True)),
        "rows": output.rows,
        "same_class": output.same_class,
    }
