"""When requests are due that come at a rate, whether earlier ones are answered or not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal

__all__ = ["Distribution", "arrivals"]

Distribution = Literal["constant", "poisson"]


def arrivals(rate: float, distribution: Distribution, seed: int | None = None) -> Iterator[int]:
    """Yield nanoseconds from the beginning, without end.

    Parameters
    ----------
    rate : float
        Requests a second.
    distribution : {"constant", "poisson"}
        Equal gaps, the first request at 0; or gaps drawn from an exponential distribution, as requests of many
        independent users have.
    seed : int, optional
        For the same gaps again.
    """
    gap = 1e9 / rate
    if distribution == "constant":
        index = 0
        while True:
            yield round(index * gap)
            index += 1
    draw = random.Random(seed)
    due = 0.0
    while True:
        due += draw.expovariate(1.0) * gap
        yield round(due)
