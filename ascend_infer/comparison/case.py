"""One request on which two models differ, and trying things out on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_infer.comparison.pairing import Pairing
from ascend_infer.comparison.tolerance import Tolerance
from ascend_infer.errors import AscendInferError

if TYPE_CHECKING:
    from ascend_infer.session import Session

__all__ = ["Case", "share", "steps_of"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A request and both answers.

    Attributes
    ----------
    a, b : Session
    pairing : Pairing
    tolerance : Tolerance
    feed : mapping of str to ndarray
        By A's names.
    answers_a, answers_b : mapping of str to ndarray
        By A's names; outputs that both have.
    batched : bool
        The first dimension of every input, and of outputs of as many rows, is the batch.
    much : int
        A guess explains a difference that it makes this many times smaller.
    """

    a: Session
    b: Session
    pairing: Pairing
    tolerance: Tolerance
    feed: Mapping[str, Array]
    answers_a: Mapping[str, Array]
    answers_b: Mapping[str, Array]
    batched: bool
    much: int = 20

    @property
    def rows(self) -> int:
        """Rows of the request; 0 where there is no batch."""
        return len(next(iter(self.feed.values()))) if self.batched and self.feed else 0

    @property
    def distance(self) -> float:
        """How far the answers are apart; infinite where shapes differ."""
        return self.distance_of(self.answers_b)

    @property
    def within(self) -> bool:
        """The answers are within tolerance."""
        return self._within(self.answers_b)

    def run_b(self, feed: Mapping[str, Array]) -> dict[str, Array] | None:
        """Run B on something else; None where it fails on that."""
        try:
            result = self.b.infer(self.pairing.feed_for_b(feed))
        except AscendInferError:
            return None
        return {name: result[other] for name, other in self.pairing.outputs.items()}

    def distance_of(self, answers: Mapping[str, Array]) -> float:
        """Return the largest difference from A's answers, in parts of each output's largest absolute value."""
        return max(
            (
                self.tolerance.gap(array, answers[name]).worst
                if array.shape == answers[name].shape
                else float("inf")
                for name, array in self.answers_a.items()
            ),
            default=0.0,
        )

    def explained_by(self, answers: Mapping[str, Array] | None) -> bool:
        """Tell whether other answers are A's, or at least far nearer to A's than B's are."""
        if answers is None:
            return False
        if self._within(answers):
            return not self.within
        found = self.distance_of(answers)
        return found * self.much <= self.distance and found < float("inf")

    def _within(self, answers: Mapping[str, Array]) -> bool:
        return all(
            array.shape == answers[name].shape and self.tolerance.gap(array, answers[name]).within
            for name, array in self.answers_a.items()
        )


def steps_of(array: Array, batched: bool) -> range:
    """Return the axes of an array that are not the batch."""
    return range(1 if batched else 0, array.ndim)


def share(value: float) -> str:
    """Write a difference in parts of the output's largest value."""
    return (
        "no difference" if value == 0 else f"differences of at most {value:.2g} of the output's largest value"
    )
