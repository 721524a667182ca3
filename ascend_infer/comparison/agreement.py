"""How well one output of two models agrees, over all requests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_infer.comparison.tolerance import Gap, Tolerance, numbers
from ascend_infer.types import DataType

__all__ = ["OutputAgreement"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(slots=True)
class OutputAgreement:
    """One output, added up over requests.

    Attributes
    ----------
    name, other_name : str
        A's and B's names of it.
    types : tuple of (str, str)
        A's and B's data types.
    shapes : tuple of (tuple of int, tuple of int)
        Of the first request, or of the first whose shapes differ.
    elements : int
        Compared ones; requests whose shapes differ are not compared.
    identical : bool
        Every bit is the same, types and shapes included.
    outside : int
        Elements that are out of tolerance.
    max_abs, max_rel : float
        Largest absolute difference; largest difference over the larger of the two absolute values. Of elements that
        are finite in both; NaN where none is, and the others are not the same.
    worst : float
        Largest absolute difference in parts of A's largest absolute value; infinite where one is no number and the
        other is.
    not_finite : tuple of (int, int, int)
        NaN and infinite elements of A, of B, and those of either that the other has not at their place.
    rows, same_class : int
        Of outputs with a row of scores a sample: rows, and those with the highest score at the same place. 0 rows where
        the output is not of that form. A row with a NaN has no class: it is not counted where it is A's, and is not of
        the same class where it is B's.
    """

    name: str
    other_name: str
    types: tuple[str, str] = ("", "")
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    elements: int = 0
    identical: bool = True
    outside: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    worst: float = 0.0
    not_finite: tuple[int, int, int] = (0, 0, 0)
    rows: int = 0
    same_class: int = 0
    _finite: int = 0
    _dot: float = 0.0
    _norms: tuple[float, float] = (0.0, 0.0)
    _seen: bool = False
    _text: bool = False

    @property
    def same_shape(self) -> bool:
        """The shapes were the same in every request."""
        return self.shapes[0] == self.shapes[1]

    @property
    def same_type(self) -> bool:
        """The data types are the same."""
        return self.types[0] == self.types[1]

    @property
    def within(self) -> bool:
        """Everything is within tolerance."""
        return self.same_shape and not self.outside

    @property
    def cosine(self) -> float | None:
        """The cosine of the angle between A's and B's values, where both are finite; None for text.

        1 where both are zero throughout, 0 where one is. NaN where nothing is finite in both, and the two are not the
        same.
        """
        if self._text:
            return None
        if not self._finite and self.not_finite[2]:
            return math.nan
        a, b = self._norms
        if a == 0 or b == 0:
            return 1.0 if a == b else 0.0
        return max(-1.0, min(1.0, self._dot / math.sqrt(a) / math.sqrt(b)))

    def add(self, a: Array, b: Array, tolerance: Tolerance) -> Gap | None:
        """Compare one request's arrays; returns the gap, None where the shapes differ."""
        self._describe(a, b)
        if a.shape != b.shape:
            self.identical = False
            return None
        gap = tolerance.gap(a, b)
        self.elements += a.size
        self.outside += int(a.size - np.count_nonzero(gap.close))
        self.worst = max(self.worst, gap.worst)
        if a.dtype == object:
            self._text = True
            self.identical = self.identical and gap.within
            return gap
        if not (a.dtype == b.dtype and a.tobytes() == b.tobytes()):
            self.identical = False
        self._sums(numbers(a), numbers(b))
        self._classes(a, b)
        return gap

    def _describe(self, a: Array, b: Array) -> None:
        if not self._seen or (self.same_shape and a.shape != b.shape):
            self.types = str(DataType.from_numpy(a.dtype)), str(DataType.from_numpy(b.dtype))
            self.shapes = a.shape, b.shape
        self._seen = True

    def _sums(self, a: Array, b: Array) -> None:
        finite_a, finite_b = np.isfinite(a), np.isfinite(b)
        both = finite_a & finite_b
        apart = ~both & ~((a == b) | (np.isnan(a) & np.isnan(b)))
        counts = (np.count_nonzero(~finite_a), np.count_nonzero(~finite_b), np.count_nonzero(apart))
        first, second, third = (old + int(new) for old, new in zip(self.not_finite, counts, strict=True))
        self.not_finite = first, second, third
        left, right = a[both], b[both]
        if not left.size:
            if not self._finite and self.not_finite[2]:
                # 0 would say that they agree.
                self.max_abs = self.max_rel = math.nan
            return
        if not self._finite:
            self.max_abs = self.max_rel = 0.0
        self._finite += left.size
        with np.errstate(over="ignore"):
            difference = np.abs(left - right)
        larger = np.maximum(np.abs(left), np.abs(right))
        self.max_abs = max(self.max_abs, float(difference.max()))
        relative = np.divide(difference, larger, out=np.zeros_like(difference), where=larger > 0)
        self.max_rel = max(self.max_rel, float(relative.max()))
        self._dot += float(np.vdot(left, right).real)
        self._norms = (
            self._norms[0] + float(np.vdot(left, left).real),
            self._norms[1] + float(np.vdot(right, right).real),
        )

    def _classes(self, a: Array, b: Array) -> None:
        if a.dtype.kind not in "fV" or a.ndim != 2 or a.shape[1] < 2:
            return
        left, right = numbers(a), numbers(b)
        of_a, of_b = ~np.isnan(left).any(axis=1), ~np.isnan(right).any(axis=1)
        # argmax calls the place of a NaN the highest.
        same = of_a & of_b & (np.argmax(left, axis=1) == np.argmax(right, axis=1))
        self.rows += int(np.count_nonzero(of_a))
        self.same_class += int(np.count_nonzero(same))
