"""Callbacks of futures: on whose thread they are called, and whom they hold up."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from held_model import LIMIT, Caller, HeldModel, HeldSession, rows, until

from ascend_infer import Batching
from ascend_infer.errors import DeadlineExceededError
from ascend_infer.testing.leaks import live_threads

ORDERED = Batching(preserve_ordering=True)


def after(seconds: float) -> int:
    return time.perf_counter_ns() + int(seconds * 1e9)


class Blocking:
    """A callback that goes on until the test lets it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.over = threading.Event()

    def __call__(self, future: Any) -> None:
        self.begun.set()
        assert self.over.wait(LIMIT)


@pytest.fixture
def blocking() -> Iterator[Blocking]:
    callback = Blocking()
    yield callback
    callback.over.set()


@pytest.fixture
def session() -> Iterator[HeldSession]:
    """One whose only instance is busy."""
    with HeldSession(HeldModel(held=True)) as session:
        session.submit(rows(0))
        session.models[0].next_run()
        yield session


def test_a_callback_of_an_expired_request_holds_up_no_deadline(
    session: HeldSession, blocking: Blocking
) -> None:
    with HeldSession(HeldModel(held=True)) as other:
        other.submit(rows(0))
        other.models[0].next_run()
        session.submit(rows(1), timeout=0.01).add_done_callback(blocking)
        assert blocking.begun.wait(LIMIT)
        for each in (session, other):
            assert isinstance(each.submit(rows(2), timeout=0.01).exception(LIMIT / 2), DeadlineExceededError)
        with pytest.raises(DeadlineExceededError):
            session.infer(rows(3), timeout=0.01)
        blocking.over.set()


def test_whoever_looks_at_the_clock_calls_nobody_back(session: HeldSession) -> None:
    on: queue.Queue[int] = queue.Queue()
    future = session.submit(rows(1), timeout=LIMIT)
    future.add_done_callback(lambda done: on.put(threading.get_ident()))
    session.queue.expire(after(LIMIT))
    assert future.done(), "at once"
    assert on.get(timeout=LIMIT) != threading.get_ident()


def test_a_callback_of_an_expired_request_may_block_in_a_call_of_its_session(session: HeldSession) -> None:
    answers: queue.Queue[float] = queue.Queue()
    late = session.submit(rows(1), timeout=0.01)
    late.add_done_callback(lambda done: answers.put(session.infer(rows(3))["y"][0, 0]))
    until(lambda: session.queue.count == 1)
    until(lambda: late.done() and session.queue.count == 1)
    assert isinstance(session.submit(rows(2), timeout=0.01).exception(LIMIT / 2), DeadlineExceededError)
    session.models[0].release_all()
    assert answers.get(timeout=LIMIT) == 6


def test_they_are_called_in_order_and_their_thread_ends(session: HeldSession) -> None:
    threads = live_threads()
    seen: list[tuple[float, int]] = []
    blocking = Blocking()
    for value in range(50):
        future = session.submit(rows(value), timeout=LIMIT + value)
        if not value:
            future.add_done_callback(blocking)
        future.add_done_callback(lambda done, value=value: seen.append((value, threading.get_ident())))
    session.queue.expire(after(2 * LIMIT + 50))
    assert blocking.begun.wait(LIMIT)
    assert live_threads() == threads + 1
    assert session.queue.calls_elsewhere
    blocking.over.set()
    until(lambda: not session.queue.calling)
    assert [value for value, _ in seen] == list(range(50))
    assert len({thread for _, thread in seen}) == 1
    assert live_threads() == threads


def test_a_callback_that_is_added_when_all_is_over_calls_itself_alone(
    session: HeldSession, blocking: Blocking
) -> None:
    seen: list[str] = []
    future = session.submit(rows(1), timeout=LIMIT)
    future.add_done_callback(blocking)
    future.add_done_callback(lambda done: seen.append("before"))
    session.queue.expire(after(LIMIT))
    assert blocking.begun.wait(LIMIT)
    future.add_done_callback(lambda done: seen.append("after"))
    assert seen == ["after"]
    blocking.over.set()
    until(lambda: seen == ["after", "before"])


def test_closing_waits_for_callbacks_and_one_of_them_may_close(session: HeldSession) -> None:
    outcome: queue.Queue[bool] = queue.Queue()
    late = session.submit(rows(1), timeout=LIMIT)
    late.add_done_callback(lambda done: outcome.put(session.scheduler.close(LIMIT)))
    session.queue.expire(after(LIMIT))
    until(lambda: session.queue.closed)
    closing = Caller(lambda: session.scheduler.close(LIMIT))
    session.models[0].release_all()
    assert closing.outcome()
    assert outcome.get(timeout=0)
    assert not session.queue.calling


def test_closing_is_bounded_whatever_callbacks_do(session: HeldSession, blocking: Blocking) -> None:
    session.submit(rows(1)).add_done_callback(blocking)
    session.models[0].held = False
    closing = Caller(lambda: session.scheduler.close(0.0, cancel_pending=True))
    closing.outcome()
    assert blocking.begun.wait(LIMIT)
    assert not blocking.over.is_set()
    blocking.over.set()


def test_who_cancels_calls_others_back_on_a_thread_of_theirs() -> None:
    with HeldSession(HeldModel(held=True), HeldModel(held=True), batching=ORDERED) as session:
        first = session.submit(rows(0))
        until(lambda: session.queue.count == 0 and session.queue.running == 1)
        second = session.submit(rows(1))
        until(lambda: session.queue.count == 0 and session.queue.running == 2)
        on: queue.Queue[int] = queue.Queue()
        second.add_done_callback(lambda done: on.put(threading.get_ident()))
        until(lambda: sum(len(model.runs) for model in session.models) == 2)
        [run] = [run for model in session.models for run in model.runs if run.values == [1]]
        run.release()
        until(lambda: session.queue.running == 1)
        assert not second.done(), "it waits for the first"
        assert first.cancel()
        assert second.done()
        assert on.get(timeout=LIMIT) != threading.get_ident()


def test_in_order_stays_in_order_when_a_clock_hands_out(blocking: Blocking) -> None:
    models = [HeldModel(held=True) for _ in range(3)]
    with HeldSession(*models, batching=ORDERED) as session:
        order: list[float] = []
        futures = []
        for value in range(3):
            futures.append(session.submit(rows(value), timeout=None if value else 10 * LIMIT))
            if value == 1:
                futures[-1].add_done_callback(blocking)
            futures[-1].add_done_callback(lambda done, value=value: order.append(value))
            until(lambda count=value + 1: sum(len(model.runs) for model in models) == count)
        [second] = [run for model in models for run in model.runs if run.values == [1]]
        [third] = [run for model in models for run in model.runs if run.values == [2]]
        second.release()
        until(lambda: session.queue.running == 2)
        session.queue.expire(after(10 * LIMIT))
        assert blocking.begun.wait(LIMIT)
        third.release()
        until(lambda: session.queue.running == 1)
        assert futures[2].done()
        assert order == [0]
        blocking.over.set()
        until(lambda: order == [0, 1, 2])
