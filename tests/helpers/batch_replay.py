"""Arrivals, instances and the batching policy on virtual time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reference_queue import BatchQueue, QueuedRequest

from ascend_infer.scheduling.policy import BatchRules, Decision, decide


@dataclass(frozen=True)
class SentBatch:
    at: int
    instance: int
    requests: tuple[QueuedRequest, ...]
    gear: int | None

    @property
    def names(self) -> list[str]:
        return [request.name for request in self.requests]

    @property
    def rows(self) -> int:
        return sum(request.rows for request in self.requests)


@dataclass
class Replay:
    """Run requests to their end.

    ``look_always`` decides anew at every arrival; without it only when the queue says that one is a reason to.
    What happened is in ``batches``, ``refused`` and ``turned_away`` (their level was full).
    """

    queue: BatchQueue
    rules: BatchRules
    busy: Callable[[SentBatch], int]
    instances: int = 1
    look_always: bool = False
    batches: list[SentBatch] = field(default_factory=list)
    refused: list[tuple[int, QueuedRequest]] = field(default_factory=list)
    turned_away: list[QueuedRequest] = field(default_factory=list)
    waits: list[tuple[int, Decision]] = field(default_factory=list)

    def run(self, arrivals: Sequence[QueuedRequest]) -> Replay:
        # At the same moment timers come first, then instances that become free, then arrivals.
        events: list[tuple[int, int, int, object]] = [
            (request.arrived, 2, number, request) for number, request in enumerate(arrivals)
        ]
        heapq.heapify(events)
        idle = set(range(self.instances))
        waiting: Decision | None = None  # the leader's, where one waits
        number = len(events)
        while events:
            now, kind, _, what = heapq.heappop(events)
            if kind == 0 and what is not waiting and idle:
                continue  # a timer of an earlier decision
            if kind == 1:
                assert isinstance(what, int)
                idle.add(what)
                if waiting is not None:
                    continue  # another one leads already
            if kind == 2:
                assert isinstance(what, QueuedRequest)
                if not self.queue.push(what):
                    self.turned_away.append(what)
                    continue
                if waiting is not None and not self.look_always and not self.queue.wakes(what, waiting):
                    continue
            waiting = None
            self._expire(now)
            while idle:
                decision = decide(self.queue.summary(now), now, self.rules)
                if not decision.requests:
                    waiting = decision
                    self.waits.append((now, decision))
                    break
                instance = min(idle)
                idle.remove(instance)
                batch = SentBatch(now, instance, tuple(self.queue.take(decision.requests)), decision.gear)
                assert batch.rows == decision.rows
                self.batches.append(batch)
                number += 1
                heapq.heappush(events, (now + self.busy(batch), 1, number, instance))
            until = waiting.wait_until if waiting is not None else self.queue.summary(now).next_deadline
            if until:
                assert until > now, "a timer in the past"
                number += 1
                heapq.heappush(events, (until, 0, number, waiting))
        return self

    def _expire(self, now: int) -> None:
        self.refused.extend((now, request) for request in self.queue.expire(now))
