"""The values that a made-up input may have."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ascend_infer.errors import InvalidOptionError

__all__ = ["ValueRange", "parse_number"]


@dataclass(frozen=True, slots=True)
class ValueRange:
    """Bounds of made-up values.

    Attributes
    ----------
    low, high : float
        Both may occur where the input takes whole numbers; ``high`` does not where it takes fractions, unless the two
        are the same.
    """

    low: float
    high: float

    @classmethod
    def parse(cls, text: str, option: str = "range") -> ValueRange:
        """Read ``"lo,hi"``.

        Raises
        ------
        InvalidOptionError
            No two numbers, or the first is above the second.
        """
        pieces = text.split(",")
        numbers = [parse_number(piece) for piece in pieces]
        if len(pieces) != 2 or None in numbers:
            raise InvalidOptionError(
                f"--{option}: got {text!r}, expected two numbers such as 0,30521", option=option, got=text
            )
        low, high = (number for number in numbers if number is not None)
        if low > high:
            raise InvalidOptionError(
                f"--{option}: got {text!r}, expected the lower number first", option=option, got=text
            )
        return cls(low, high)

    @property
    def whole(self) -> tuple[int, int]:
        """The least and the greatest whole number inside; the first is above the second where there is none."""
        return math.ceil(self.low), math.floor(self.high)


def parse_number(text: str) -> float | None:
    """Return a finite number, whole where it is written so; None for anything else."""
    try:
        number = int(text)
    except ValueError:
        try:
            return value if math.isfinite(value := float(text)) else None
        except ValueError:
            return None
    return number if abs(number) < 2**64 else None
