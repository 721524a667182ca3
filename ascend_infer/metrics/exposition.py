"""Families as Prometheus' text format, version 0.0.4, in the manner of Triton's own pages."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ascend_infer.metrics.family import Family

__all__ = ["CONTENT_TYPE", "number", "render"]

#: The Content-Type of what :func:`render` returns.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def render(families: Iterable[Family]) -> str:
    """Write families down; each has its HELP and TYPE lines even without a sample, as Triton's have."""
    lines = []
    for family in families:
        lines.append(f"# HELP {family.name} {_escaped(family.help)}\n# TYPE {family.name} {family.kind}\n")
        for sample in family.samples:
            labels = ",".join(f'{name}="{_escaped(value, quoted=True)}"' for name, value in sample.labels)
            braces = f"{{{labels}}}" if labels else ""
            lines.append(f"{family.name}{sample.suffix}{braces} {number(sample.value)}\n")
    return "".join(lines)


def number(value: float) -> str:
    """Write a number: whole ones as integers, as Triton does."""
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return repr(float(value))


def _escaped(text: str, quoted: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quoted else text
