"""The compiled queue without threads, on virtual time: what takes the reference queue's place in tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from held_model import HeldModel
from reference_queue import QueuedRequest

from ascend_infer._native import Lane, Request, RequestQueue, new_request
from ascend_infer.errors import DeadlineExceededError, QueueFullError
from ascend_infer.scheduling.policy import BatchRules, Decision, LevelRules, QueueSummary, decide


class CompiledQueue:
    """A ``RequestQueue`` whose lane is served by who calls; its runs take no time.

    What the policy decided outside has to be what the queue decides by itself.
    """

    def __init__(
        self,
        rules: BatchRules,
        levels: Sequence[LevelRules],
        decide: Callable[[QueueSummary, int, BatchRules], Decision] = decide,
        lanes: int = 1,
    ) -> None:
        self.lanes = [Lane(HeldModel(), f"m_{number}", False) for number in range(lanes)]
        for lane in self.lanes:
            lane.serve = lambda: (
                None
            )  # the queue starts a thread for the lane that is to lead; it ends at once
        self.lane = self.lanes[0]  # the one that leads first
        self.queue = RequestQueue(
            "m",
            lanes=self.lanes,
            watch=lambda queue, when: None,
            decide=decide,
            rules=rules,
            summary=QueueSummary(),
            level_rules=levels,
            level_of=lambda level: level,
        )
        self.now = 0
        self._queued: dict[str, tuple[QueuedRequest, Request]] = {}
        self._refused: list[QueuedRequest] = []

    def push(self, request: QueuedRequest) -> bool:
        # A timeout counts from the call, and 0 is none: the call came in just before.
        asked = request.asked
        made = new_request(
            [np.empty((request.rows, 1))],
            ("y",),
            request.rows,
            key=request.key,
            level=request.level,
            request_id=request.name,
            called=request.arrived - 1,
            timeout=0 if asked is None else asked + 1,
        )
        try:
            self.queue.push(made, self._ended, request.arrived)
        except QueueFullError:
            return False
        self._queued[request.name] = request, made
        return True

    def expire(self, now: int) -> list[QueuedRequest]:
        self.now = now
        self.queue.expire(now)
        refused, self._refused = self._refused, []
        return refused

    def summary(self, now: int) -> QueueSummary:
        self.now = now
        return replace(self.queue.head())

    def take(self, count: int) -> list[QueuedRequest]:
        batch = self.queue.take(self.lane, self.now)
        if batch is None:
            assert count == 0, f"waits until {self.queue.leader_until}, expected {count} requests"
            return []
        assert batch.requests is not None
        taken = [self._queued.pop(request.request_id)[0] for request in batch.requests]
        assert sum(request.rows for request in taken) == batch.rows
        self.queue.complete(batch, [np.empty((batch.rows, 1))])
        assert len(taken) == count
        return taken

    def cancel(self, request: QueuedRequest) -> bool:
        queued = self._queued.get(request.name)
        return queued is not None and self.queue.cancel(queued[1])

    def wakes(self, request: QueuedRequest, decision: Decision) -> bool:
        return not self.lane.asleep

    def _ended(self, request: Request) -> None:
        # What ran is late by the real clock.
        if isinstance(request.error, DeadlineExceededError) and request.request_id in self._queued:
            self._refused.append(self._queued.pop(request.request_id)[0])
