from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from ascend_infer.backends.base import Array, Cancellation
from ascend_infer.errors import ClosedError, DeadlineExceededError, RequestCancelledError
from ascend_infer.scheduling.direct import DirectScheduler
from ascend_infer.scheduling.worker import Job, Worker

WORKER = "worker"
MAIN = "main"
#: Threads that are not workers, by their ident.
NAMES = {threading.get_ident(): MAIN}


class Fake:
    """An executable that says which thread ran it, and waits when it is told to."""

    slots = 1
    interruptible = False

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.gate: threading.Event | None = None
        self.entered = threading.Event()
        self.inside = 0
        self.most = 0

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[Array]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            self.threads.append(NAMES.get(threading.get_ident(), WORKER))
            self.entered.set()
            if self.gate is not None:
                if cancellation is not None:
                    cancellation.arm(self.gate.set)
                assert self.gate.wait(30)
                if cancellation is not None and cancellation.requested:
                    raise RequestCancelledError("stopped")
            if "boom" in inputs:
                raise ValueError("boom")
            result = [inputs["x"] * 2]
            if out:
                out[outputs[0]][...] = result[0]
                return [out[outputs[0]]]
            return result
        finally:
            self.inside -= 1


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def scheduler(fake: Fake) -> Iterator[DirectScheduler]:
    scheduler = DirectScheduler("net", [fake])
    yield scheduler
    if fake.gate is not None:
        fake.gate.set()
    assert scheduler.close()


def feed(rows: int = 1) -> dict[str, Any]:
    return {"x": np.ones((rows, 2), np.float32)}


def test_the_first_run_of_each_shape_is_on_the_worker_and_later_ones_are_not(
    scheduler: DirectScheduler, fake: Fake
) -> None:
    for rows in (1, 1, 2, 2, 1):
        assert scheduler.run(feed(rows), ("y",)).arrays[0].shape == (rows, 2)
    assert fake.threads == [WORKER, MAIN, WORKER, MAIN, MAIN]


def test_runs_measured_to_be_long_are_on_the_worker(scheduler: DirectScheduler, fake: Fake) -> None:
    scheduler._durations[((1, 2),)] = 60_000_000
    scheduler.run(feed(), ("y",))
    assert fake.threads == [WORKER]


def test_without_a_deadline_other_threads_keep_their_runs(scheduler: DirectScheduler, fake: Fake) -> None:
    def work() -> None:
        NAMES[threading.get_ident()] = "mine"
        scheduler.run(feed(), ("y",))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    del NAMES[thread.ident or 0]  # idents are used again
    assert fake.threads == ["mine"]


def test_a_deadline_that_could_pass_means_the_worker_in_any_thread(
    scheduler: DirectScheduler, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_infer.scheduling.direct._LONG", 10**12)
    scheduler._durations[((1, 2),)] = 20 * 10**9
    scheduler.run(feed(), ("y",), timeout=30)
    scheduler.run(feed(), ("y",), timeout=60)
    assert fake.threads == [WORKER, MAIN]


def test_an_instance_that_is_busy_does_not_hold_up_a_deadline(scheduler: DirectScheduler, fake: Fake) -> None:
    fake.gate = threading.Event()
    thread = threading.Thread(target=lambda: scheduler.run(feed(), ("y",)))
    thread.start()
    fake.entered.wait()
    scheduler._durations[((1, 2),)] = 1
    with pytest.raises(DeadlineExceededError):
        scheduler.run(feed(), ("y",), timeout=0.01)
    fake.gate.set()
    thread.join()


def test_a_request_whose_time_has_passed_is_stopped(scheduler: DirectScheduler, fake: Fake) -> None:
    fake.gate = threading.Event()
    out = {"y": np.zeros((1, 2), np.float32)}
    with pytest.raises(DeadlineExceededError):
        scheduler.run(feed(), ("y",), out, timeout=0.01)
    assert fake.gate.is_set()
    assert not out["y"].any()
    fake.gate = None
    assert scheduler.run(feed(), ("y",), out).arrays[0] is out["y"]
    assert out["y"].all()


def test_no_instance_runs_twice_at_once_and_all_are_used() -> None:
    fakes = [Fake(), Fake()]
    scheduler = DirectScheduler("net", fakes)
    barrier = threading.Event()
    for fake in fakes:
        fake.gate = barrier
    threads = [threading.Thread(target=lambda: scheduler.run(feed(), ("y",))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for fake in fakes:
        assert fake.entered.wait(30)
    barrier.set()
    for thread in threads:
        thread.join()
    assert [fake.most for fake in fakes] == [1, 1]
    assert sum(len(fake.threads) for fake in fakes) == 6
    assert scheduler.close()


def test_an_error_reaches_the_caller_and_the_instance_goes_on(scheduler: DirectScheduler) -> None:
    for _ in range(3):
        with pytest.raises(ValueError, match="boom"):
            scheduler.run({**feed(), "boom": np.zeros(1)}, ("y",))
        assert scheduler.run(feed(), ("y",)).arrays[0].all()


def test_shapes_are_not_remembered_without_end(
    scheduler: DirectScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_infer.scheduling.direct._REMEMBERED", 3)
    for rows in range(1, 10):
        scheduler.run(feed(rows), ("y",))
    assert len(scheduler._durations) <= 3


def test_close_lets_queued_jobs_finish() -> None:
    fake = Fake()
    fake.gate = threading.Event()
    worker = Worker(fake, threading.Lock())
    jobs = [Job(feed(), ("y",)) for _ in range(3)]
    for job in jobs:
        worker.submit(job)
    worker.stop()
    late = Job(feed(), ("y",))
    fake.gate.set()
    assert worker.join(30)
    worker.submit(late)
    assert all(job.arrays[0].all() for job in jobs)
    assert late.wait(30)
    assert isinstance(late.error, ClosedError)


def test_a_worker_that_never_ran_stops_too() -> None:
    worker = Worker(Fake(), threading.Lock())
    worker.stop()
    assert worker.join()
    job = Job(feed(), ("y",))
    worker.submit(job)
    assert job.wait(30)
    assert isinstance(job.error, ClosedError)
    assert worker.join(30)


def test_close_stops_what_does_not_end_by_itself() -> None:
    fake = Fake()
    fake.gate = threading.Event()
    scheduler = DirectScheduler("net", [fake])
    outcome: list[BaseException] = []

    def work() -> None:
        try:
            scheduler.run(feed(), ("y",), timeout=60)
        except RequestCancelledError as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert fake.entered.wait(30)
    assert scheduler.close(timeout=0.01)
    thread.join(30)
    assert len(outcome) == 1


def test_a_job_given_up_before_it_ran_does_not_run() -> None:
    fake = Fake()
    job = Job(feed(), ("y",))
    job.cancellation.request()
    job.run(fake)
    assert isinstance(job.error, RequestCancelledError)
    assert not fake.threads
