"""The threads under a batch: order, failures, interruption, none left over (the fixture checks that)."""

from __future__ import annotations

import threading

import pytest

from ascend_infer.errors import ImageError
from ascend_infer.image import rows
from ascend_infer.image.rows import fill_rows


def test_each_row_once():
    done: list[int] = []
    assert fill_rows(done.append, 100, 4, stop_at_error=True) == {}
    assert sorted(done) == list(range(100))


def test_work_really_runs_at_the_same_time():
    meeting = threading.Barrier(3, timeout=60)

    def fill(_row: int) -> None:
        meeting.wait()

    assert fill_rows(fill, 3, 3, stop_at_error=True) == {}


def test_no_row_is_begun_after_a_failure_on_one_thread():
    begun: list[int] = []

    def fill(row: int) -> None:
        begun.append(row)
        if row == 2:
            raise ImageError("bad", source="x")

    assert list(fill_rows(fill, 10, 1, stop_at_error=True)) == [2]
    assert begun == [0, 1, 2]
    begun.clear()
    assert list(fill_rows(fill, 10, 1, stop_at_error=False)) == [2]
    assert len(begun) == 10


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, RuntimeError, MemoryError])
def test_whatever_is_raised_in_a_row_comes_out_after_all_threads_ended(kind):
    def fill(row: int) -> None:
        if row == 5:
            raise kind

    with pytest.raises(kind):
        fill_rows(fill, 50, 4, stop_at_error=False)


def test_interrupted_while_waiting_for_the_others(monkeypatch):
    begun = threading.Event()
    release = threading.Event()
    interrupted: list[bool] = []
    main = threading.current_thread()

    class Interrupting(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            if not interrupted:
                interrupted.append(True)
                release.set()
                raise KeyboardInterrupt
            super().join(timeout)

    def fill(_row: int) -> None:
        if threading.current_thread() is main:
            begun.wait()
        else:
            begun.set()
            release.wait()

    monkeypatch.setattr(rows, "Thread", Interrupting)
    with pytest.raises(KeyboardInterrupt):
        fill_rows(fill, 2, 2, stop_at_error=True)
    assert interrupted == [True]


def test_without_more_threads_the_caller_does_the_work(monkeypatch):
    class Refusing(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(rows, "Thread", Refusing)
    done: list[int] = []
    fill_rows(done.append, 5, 4, stop_at_error=True)
    assert done == [0, 1, 2, 3, 4]
