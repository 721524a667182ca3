"""When requests are due that come at a rate, whether earlier ones are answered or not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal

__all__ = ["Distribution", "arrivals", "least_span"]

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


def least_span(rate: float, distribution: Distribution, count: int) -> int:
    """Return the nanoseconds that belong to so many requests, however soon the last of them is answered.

    With equal gaps the last one's gap comes after it, as the first is due at 0: without that gap, ten requests at ten
    a second would seem to be eleven a second. Drawn gaps come before their requests.
    """
    return round(count * 1e9 / rate) if distribution == "constant" else 0
