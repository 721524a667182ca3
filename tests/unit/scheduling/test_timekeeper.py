"""The thread that looks at queues at moments: what it keeps, and that it forgets none."""

from __future__ import annotations

import time

import pytest
from held_model import LIMIT, until

from ascend_infer.scheduling import timekeeper


class Looked:
    """In a queue's place: counts looks, and says when to look again."""

    def __init__(self) -> None:
        self.looks = 0
        self.again = 0

    def expire(self) -> int:
        self.looks += 1
        return self.again


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch) -> timekeeper._Timekeeper:
    one = timekeeper._Timekeeper()
    monkeypatch.setattr(timekeeper, "_the_one", one)
    return one


def soon(seconds: float) -> int:
    return time.perf_counter_ns() + int(seconds * 1e9)


def test_what_is_watched_again_and_again_is_kept_once(keeper: timekeeper._Timekeeper) -> None:
    queue = Looked()
    queue.again = soon(LIMIT)
    for looks in range(1, 200):
        timekeeper.watch(queue, soon(0))  # type: ignore[arg-type]
        until(lambda looks=looks: queue.looks == looks)
    assert len(keeper.heap) < 40
    until(lambda: len(keeper.counting) == 1)


def test_an_earlier_moment_takes_the_place_of_a_later_one(keeper: timekeeper._Timekeeper) -> None:
    queues = [Looked(), Looked()]
    for queue in queues:
        queue.again = soon(2 * LIMIT)
        for seconds in range(200):
            timekeeper.watch(queue, soon(2 * LIMIT - seconds / 100))  # type: ignore[arg-type]
    assert len(keeper.heap) < 40
    assert len(keeper.counting) == 2
    timekeeper.watch(queues[0], soon(0))  # type: ignore[arg-type]
    until(lambda: queues[0].looks == 1)
    timekeeper.watch(queues[0], soon(0))  # type: ignore[arg-type]
    until(lambda: queues[0].looks == 2)
    assert queues[1].looks == 0


def test_what_is_gone_is_not_kept_until_its_moment(keeper: timekeeper._Timekeeper) -> None:
    lasting = Looked()
    for _ in range(200):
        timekeeper.at(soon(LIMIT), Looked(), Looked.expire)
        timekeeper.watch(Looked(), soon(LIMIT))  # type: ignore[arg-type]
    timekeeper.at(soon(LIMIT), lasting, Looked.expire)
    assert len(keeper.heap) < 40
    assert len(keeper.counting) < 40
    assert [entry for entry in keeper.heap if entry.target() is lasting]
