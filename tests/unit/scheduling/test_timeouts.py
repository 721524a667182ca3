"""A request with a timeout is answered in time or fails, however long its run goes on."""

from __future__ import annotations

import queue
import time
from typing import Any

import numpy as np
import pytest
from compiled_queue import CompiledQueue
from held_model import LIMIT, Caller, HeldModel, HeldSession, request, rows, until

from ascend_infer.errors import DeadlineExceededError
from ascend_infer.scheduling.policy import BatchRules, LevelRules


def test_a_run_that_hangs_after_short_ones_is_left_at_the_deadline_and_noticed() -> None:
    model = HeldModel()
    with HeldSession(model, patience=0.0) as session:
        for value in range(3):
            assert session.infer(rows(value), timeout=LIMIT)["y"][0, 0] == 2 * value
        model.held = True
        caller = Caller(lambda: session.infer(rows(3), timeout=0.05))
        run = model.next_run()
        with pytest.raises(DeadlineExceededError) as caught:
            caller.outcome()
        assert caught.value.timeout == 0.05
        assert not run.over.is_set()
        until(lambda: session.scheduler.occupation()[:2] == (0, 1))
        model.release_all()
        until(lambda: session.scheduler.occupation()[:2] == (1, 0))


@pytest.mark.parametrize("stops", [True, False])
def test_a_callbacks_own_call_is_never_answered_late(stops: bool) -> None:
    model = HeldModel(held=True, stops=stops)
    with HeldSession(model) as session:
        outcome: queue.Queue[Any] = queue.Queue()

        def again(done: Any) -> None:
            try:
                outcome.put(session.infer(rows(2), timeout=0.05))
            except DeadlineExceededError as error:
                outcome.put(error.timeout)

        session.submit(rows(1)).add_done_callback(again)
        model.next_run().release()
        run = model.next_run()
        began = time.perf_counter_ns()
        if not stops:
            until(lambda: time.perf_counter_ns() > began + 50_000_000)
            run.release()
        assert outcome.get(timeout=LIMIT) == 0.05
        assert run.cancelled == stops
        assert session.counters.snapshot().failures == (0, 0, 0, 1)


def test_a_result_that_comes_late_is_dropped_though_nobody_looked_at_the_clock() -> None:
    queued = CompiledQueue(BatchRules(8, (8,), 100), [LevelRules()])
    late, other = request(1, timeout=1_000_000), request(2)
    ended: list[Any] = []
    for one in (late, other):
        queued.queue.push(one, ended.append)
    batch = queued.queue.take(queued.lane, late.called + 900_000)
    assert batch is not None
    until(lambda: time.perf_counter_ns() > late.called + 1_000_000)
    queued.queue.complete(batch, [np.empty((2, 1))])
    assert ended == [late, other]
    assert isinstance(late.error, DeadlineExceededError)
    assert late.error.timeout == 0.001
    assert late.outputs is None
    assert other.error is None
