"""Numbers as options: each check returns the plain Python value or says what was expected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ascend_infer.errors import InvalidOptionError

__all__ = ["dtype_name", "number", "per_channel", "text", "truth", "two_sides", "whole", "wrong"]


def wrong(option: str, got: object, expected: str) -> InvalidOptionError:
    """Make the error for an option's value."""
    return InvalidOptionError(f"{option}={got!r}: expected {expected}", option=option, got=got)


def whole(option: str, value: object, least: int, most: int | None = None) -> int:
    """Return a whole number within bounds; numpy's integers count, bools do not."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise wrong(option, value, "a whole number")
    if value < least or (most is not None and value > most):
        raise wrong(option, value, f"at least {least}" + (f" and at most {most}" if most is not None else ""))
    return int(value)


def text(option: str, value: object) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise wrong(option, value, "text")
    return value


def truth(option: str, value: object) -> bool:
    """Return True or False, and take nothing else for them."""
    if not isinstance(value, bool):
        raise wrong(option, value, "True or False")
    return value


def number(option: str, value: object) -> float:
    """Return a finite number as float."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        raise wrong(option, value, "a number")
    if not math.isfinite(value):
        raise wrong(option, value, "a finite number")
    return float(value)


def two_sides(option: str, value: object, most: int) -> tuple[int, int]:
    """Return height and width of one number (a square) or two."""
    sides = [value, value] if isinstance(value, int | np.integer) else _listed(value)
    if len(sides) != 2:
        raise wrong(option, value, "one number, or height and width")
    return whole(option, sides[0], 1, most), whole(option, sides[1], 1, most)


def per_channel(option: str, value: object, channels: int) -> tuple[float, ...]:
    """Return one number for each channel; a single number, or equal ones, serve for any count of channels."""
    values = [value] if isinstance(value, int | float | np.number) else _listed(value)
    numbers = tuple(number(option, item) for item in values)
    if numbers and len(set(numbers)) == 1:
        return numbers[:1] * channels
    if len(numbers) != channels:
        raise wrong(option, value, f"one number, or one for each of {channels} channel(s)")
    return numbers


def dtype_name(value: object) -> str:
    """Return the name of a numpy dtype or scalar type (``np.float16``); strings stay as they are."""
    if isinstance(value, str):
        return value
    try:
        return np.dtype(value).name  # type: ignore[call-overload, no-any-return]
    except TypeError:
        return str(value)


def _listed(value: object) -> list[object]:
    if isinstance(value, np.ndarray):
        return list(value.ravel())
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else []
