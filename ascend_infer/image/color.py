"""Colours as options: one grey value or red, green and blue."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.errors import InvalidOptionError

__all__ = ["WHITE", "Color", "as_color"]

Color = tuple[int, int, int]

WHITE: Color = (255, 255, 255)


def as_color(option: str, value: object) -> Color:
    """Return the colour as red, green and blue.

    Raises
    ------
    InvalidOptionError
        When it is neither a whole number of 0..255 nor three of them.
    """
    parts = [value] * 3 if isinstance(value, int) else list(value) if isinstance(value, Sequence) else []
    numbers = [part for part in parts if isinstance(part, int) and not isinstance(part, bool)]
    if len(parts) != 3 or len(numbers) != 3 or not all(0 <= number <= 255 for number in numbers):
        raise InvalidOptionError(
            f"{option}={value!r}: expected red, green, blue or one grey, whole numbers of 0 to 255",
            option=option,
            got=value,
        )
    red, green, blue = numbers
    return red, green, blue
