"""How long a device had at least one batch, found out from batches that tell where they ran when they are done."""

from __future__ import annotations

from collections import deque

__all__ = ["BusyTime"]


class BusyTime:
    """The length of a union of spans of time, which come in the order of their ends.

    Thread safety: none.
    """

    def __init__(self) -> None:
        self._spans: deque[tuple[int, int]] = deque()
        self.ns = 0

    def add(self, begun: int, ended: int, oldest: int) -> None:
        """Take in a span.

        Parameters
        ----------
        begun, ended : int
            Nanoseconds; ``ended`` is no less than that of any before.
        oldest : int
            No span that is still to come begins before this.
        """
        spans = self._spans
        while spans and spans[-1][1] >= begun:
            first, last = spans.pop()
            self.ns -= last - first
            begun = min(begun, first)
        spans.append((begun, ended))
        self.ns += ended - begun
        # What no other can reach is counted and need not be kept.
        while spans and spans[0][1] < oldest:
            spans.popleft()
