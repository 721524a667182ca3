"""A metric family: a name, a type, a help text and samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Family", "Kind", "Labels", "Sample"]

#: Pairs of name and value, in the order they are printed in.
Labels = tuple[tuple[str, str], ...]

Kind = Literal["counter", "gauge", "histogram", "summary"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: ``suffix`` comes behind the family's name, as ``_sum`` or ``_bucket``."""

    suffix: str
    labels: Labels
    value: float


@dataclass(slots=True)
class Family:
    """A family and what was sampled of it."""

    name: str
    kind: Kind
    help: str
    samples: list[Sample] = field(default_factory=list)

    def add(self, labels: Labels, value: float, suffix: str = "") -> None:
        """Append a sample."""
        self.samples.append(Sample(suffix, labels, value))
