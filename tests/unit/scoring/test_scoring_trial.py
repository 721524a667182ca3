"""The measurement of a batch size: what goes wrong in it ends it, and leaves no thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ascend_infer as ai
from ascend_infer.errors import ModelExecutionError
from ascend_infer.scoring import arrangement
from ascend_infer.scoring.trial import runs_a_second
from ascend_infer.types import ModelInstance

FEED = {"x": np.zeros((1, 4), np.float32)}


class Failing:
    """A session of four places; the run of this number raises, on the main thread or on another."""

    def __init__(self, error: BaseException, on_main: bool) -> None:
        self.instances = (ModelInstance("m_0", "cpu", 4),)
        self._error, self._on_main = error, on_main
        self._runs = count()
        self._others = threading.Event()

    def infer(self, feed: Any) -> None:
        main = threading.current_thread() is threading.main_thread()
        if main and self._on_main:
            assert self._others.wait(10)  # some of them are at work
            raise self._error
        if not main:
            self._others.set()
            if not self._on_main and next(self._runs) == 3:
                raise self._error


@pytest.fixture(autouse=True)
def no_thread_stays_or_dies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    died: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before
    assert not died


@pytest.mark.parametrize("on_main", [True, False])
@pytest.mark.parametrize(
    "error", [ModelExecutionError("it fails", model="m"), KeyboardInterrupt(), ValueError("odd")]
)
def test_an_error_of_any_caller_ends_all(error: BaseException, on_main: bool) -> None:
    session: Any = Failing(error, on_main)
    with pytest.raises(type(error)) as caught:
        runs_a_second(session, FEED)
    assert caught.value is error


def test_ctrl_c_while_the_others_end_is_raised_when_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = threading.Thread.join
    interrupts = iter([KeyboardInterrupt()])

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        for interrupt in interrupts:
            raise interrupt
        release.set()
        joined(thread, timeout)

    release = threading.Event()
    begun = threading.Event()

    def infer(feed: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            assert release.wait(10)
        else:
            assert begun.wait(10)

    session: Any = SimpleNamespace(instances=(ModelInstance("m_0", "cpu", 2),), infer=infer)
    monkeypatch.setattr(threading.Thread, "join", join)
    with pytest.raises(KeyboardInterrupt):
        runs_a_second(session, FEED)


def test_a_size_that_fails_in_the_trial_is_not_taken(
    session: ai.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = iter([100.0, None])

    def trial(session: object, feed: object) -> float:
        rate = next(rates)
        if rate is None:
            raise ModelExecutionError("it fails", model="m")
        return rate

    monkeypatch.setattr(arrangement, "runs_a_second", trial)
    assert arrangement._rates(session, [1, 2, 4]) == {1: 100.0}
