"""How much of an output's axis belongs to the request, when inputs were padded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["AxisCrop"]


@dataclass(frozen=True, slots=True)
class AxisCrop:
    """One axis of one output, cut in proportion to an input's axis.

    Attributes
    ----------
    axis : int
        Of the output, not negative.
    asked, padded : int
        The input axis before and after padding.
    rounding : {"ceil", "floor"}
        What becomes of a part: a stride of 4 makes 62.5 steps of 250 pixels.
    """

    axis: int
    asked: int
    padded: int
    rounding: Literal["ceil", "floor"] = "ceil"

    def keep(self, length: int) -> int:
        """Return how much of an axis of this length stays."""
        if self.padded <= 0 or self.asked >= self.padded:
            return length
        scaled = length * self.asked
        return scaled // self.padded if self.rounding == "floor" else -(-scaled // self.padded)
