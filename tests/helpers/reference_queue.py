"""The micro-batcher's queue in plain Python: what a fast one is compared with.

It looks through everything at every question, so that there is nothing in it to get wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from ascend_infer.scheduling.policy import (
    BatchRules,
    Decision,
    Expiry,
    LevelRules,
    QueueSummary,
    expires_at,
)


@dataclass(eq=False)
class QueuedRequest:
    """A request as the queue sees it; times in nanoseconds, ``level`` 0 is served first.

    Requests may run together when their ``key`` is equal: it stands for the shapes and the set of inputs.
    """

    name: str
    arrived: int
    rows: int = 1
    key: Hashable = None
    level: int = 0
    asked: int | None = None
    expiry: Expiry = field(default=Expiry(0, 0), init=False)


class BatchQueue(Protocol):
    """What a replay needs of a queue."""

    def push(self, request: QueuedRequest) -> bool:
        """Put it at its level's end; False where the level is full."""

    def expire(self, now: int) -> list[QueuedRequest]:
        """Take out and return what is to be refused at ``now``; put back what its level delays."""

    def summary(self, now: int) -> QueueSummary:
        """Describe the head, after ``expire(now)``."""

    def take(self, count: int) -> list[QueuedRequest]:
        """Take out the first."""

    def cancel(self, request: QueuedRequest) -> bool:
        """Take out one; False where it is not queued any more."""

    def wakes(self, request: QueuedRequest, decision: Decision) -> bool:
        """Whether a request just pushed is a reason to decide again before ``decision.wait_until``."""


class ReferenceQueue:
    def __init__(self, rules: BatchRules, levels: Sequence[LevelRules]) -> None:
        self._rules = rules
        self._levels = tuple(levels)
        self._waiting: list[list[QueuedRequest]] = [[] for _ in levels]
        self._delayed: list[list[QueuedRequest]] = [[] for _ in levels]

    def order(self) -> list[QueuedRequest]:
        """Return everything in the order of service."""
        return [
            request
            for waiting, delayed in zip(self._waiting, self._delayed, strict=True)
            for request in (*waiting, *delayed)
        ]

    def push(self, request: QueuedRequest) -> bool:
        level = self._levels[request.level]
        queued = len(self._waiting[request.level]) + len(self._delayed[request.level])
        if level.max_requests and queued >= level.max_requests:
            return False
        request.expiry = expires_at(level, request.arrived, request.asked)
        self._waiting[request.level].append(request)
        return True

    def expire(self, now: int) -> list[QueuedRequest]:
        refused = [r for r in self.order() if 0 < r.expiry.refused_at <= now]
        for request in refused:
            self.cancel(request)
        for waiting, delayed in zip(self._waiting, self._delayed, strict=True):
            late = [r for r in waiting if 0 < r.expiry.delayed_at <= now]
            waiting[:] = [r for r in waiting if r not in late]
            delayed.extend(late)
        return refused

    def joinable(self) -> list[QueuedRequest]:
        """Return the longest prefix that may run together."""
        found: list[QueuedRequest] = []
        for request in self.order():
            rows = sum(r.rows for r in found) + request.rows
            if found and (request.key != found[0].key or rows > self._rules.max_rows):
                break
            found.append(request)
        return found

    def summary(self, now: int) -> QueueSummary:
        order = self.order()
        batch = self.joinable()
        summary = QueueSummary(
            requests=len(batch),
            rows=sum(r.rows for r in batch),
            closed=len(batch) < len(order),
            oldest=min((r.arrived for r in batch), default=0),
            newest=max((r.arrived for r in batch), default=0),
            next_deadline=min((moment for r in order for moment in self._moments(r)), default=0),
        )
        prefixes = [(count, sum(r.rows for r in batch[:count])) for count in range(1, len(batch) + 1)]
        preferred = self._rules.preferred
        exact = [prefix for prefix in prefixes if prefix[1] in preferred]
        if exact:
            summary.best_requests, summary.best_rows = exact[-1]
        elif preferred:
            for before, after in pairwise(prefixes):
                if after[1] > preferred[-1]:
                    summary.best_requests, summary.best_rows = before
                    summary.overshoot = True
                    break
        for gear in self._rules.gears:
            count, rows = max((p for p in prefixes if p[1] <= gear.rows), default=(0, 0))
            summary.gear_requests.append(count)
            summary.gear_rows.append(rows)
        return summary

    def take(self, count: int) -> list[QueuedRequest]:
        taken = self.order()[:count]
        assert len(taken) == count, "took more than is queued"
        for request in taken:
            self.cancel(request)
        return taken

    def cancel(self, request: QueuedRequest) -> bool:
        for requests in (*self._waiting, *self._delayed):
            if request in requests:
                requests.remove(request)
                return True
        return False

    def wakes(self, request: QueuedRequest, decision: Decision) -> bool:
        order = self.order()
        if order[-1] is not request or sum(r.rows for r in order) >= decision.wake_rows:
            return True
        if request not in self.joinable():
            return True
        moments = self._moments(request)
        return bool(moments) and (not decision.wait_until or min(moments) < decision.wait_until)

    def _moments(self, request: QueuedRequest) -> list[int]:
        delayed_at, refused_at = request.expiry
        if request in self._delayed[request.level]:
            delayed_at = 0
        return [moment for moment in (delayed_at, refused_at) if moment]
