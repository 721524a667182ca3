"""How far apart two outputs may be, and how far they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidOptionError

__all__ = ["Gap", "Tolerance", "numbers"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Of an output's largest absolute value: what is taken as nothing where no absolute tolerance is given.
_NOTHING = 1e-4
#: Whole numbers up to here are all doubles.
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Tolerance:
    """An element of B is within tolerance where ``|a - b| <= atol + rtol * |a|``, as in ``numpy.isclose``.

    Whole numbers are compared as they are, also those that no double holds. NaN is within tolerance of NaN, and an
    infinity of the same one.

    Attributes
    ----------
    rtol : float
    atol : float or None
        None: a ten-thousandth of the largest absolute value of A's output, request by request.
    """

    rtol: float = 1e-3
    atol: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", 0 if self.atol is None else self.atol)):
            if not 0 <= value < float("inf"):
                raise InvalidOptionError(f"{name}: got {value}, expected 0 or more", option=name, got=value)

    def gap(self, a: Array, b: Array) -> Gap:
        """Measure two arrays of one shape."""
        if a.dtype == object or b.dtype == object:
            equal = np.asarray(_texts(a) == _texts(b))
            return Gap(equal, np.where(equal, 0.0, np.inf), 1.0)
        left, right = numbers(a), numbers(b)
        both = np.isfinite(left) & np.isfinite(right)
        finite = np.abs(left[np.isfinite(left)])
        span = float(finite.max()) if finite.size else 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(left - right)
            atol = span * _NOTHING if self.atol is None else self.atol
            close = apart <= atol + self.rtol * np.abs(left)
        alike = (left == right) | (np.isnan(left) & np.isnan(right))
        # Differences are taken before they are rounded to doubles, so those that are there do not become 0.
        apart = np.where(alike, 0.0, np.where(both, apart, np.inf)).astype(np.float64)
        return Gap(np.where(both, close, alike), apart, span)


@dataclass(frozen=True, slots=True)
class Gap:
    """How far two arrays are apart, element by element.

    Attributes
    ----------
    close : ndarray of bool
        Within tolerance.
    apart : ndarray of float64
        Absolute differences; infinite where one of the two is no number and the other is not the same.
    span : float
        The largest finite absolute value of A.
    """

    close: Array
    apart: Array
    span: float

    @property
    def within(self) -> bool:
        """Every element is within tolerance."""
        return bool(self.close.all())

    @property
    def worst(self) -> float:
        """The largest difference in parts of ``span``."""
        largest = float(self.apart.max()) if self.apart.size else 0.0
        if largest == 0:
            return 0.0
        return largest / self.span if self.span else float("inf")


def numbers(array: Array) -> Array:
    """Return an array's values, none of them rounded: as float64 or complex128, longdouble for larger whole numbers."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    large = array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size > 0
    if large and (int(array.max()) > _EXACT or int(array.min()) < -_EXACT):
        # A long double has 64 bits of mantissa or more on Linux; it is slower, and few outputs need it.
        return array.astype(np.longdouble)
    # numpy has no direct way from the types of ml_dtypes to all of its own.
    return (
        array.astype(np.float32).astype(np.float64) if array.dtype.kind == "V" else array.astype(np.float64)
    )


def _texts(array: Array) -> Array:
    plain = [
        item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else item for item in array.flat
    ]
    texts = np.empty(array.size, dtype=object)
    texts[:] = plain
    return texts.reshape(array.shape)
