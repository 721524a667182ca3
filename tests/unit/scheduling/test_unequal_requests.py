"""What may share a batch, on an instance that the test holds."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ascend_infer._native import Lane, OutputShapes, RequestQueue, new_request
from ascend_infer.backends.base import Array, Cancellation
from ascend_infer.config import ModelConfig
from ascend_infer.config.tensor_config import BatchInputKind, ModelInput
from ascend_infer.errors import ModelExecutionError
from ascend_infer.loading import request_maker
from ascend_infer.result import ResultOrigin
from ascend_infer.scheduling.batching import Batching
from ascend_infer.scheduling.policy import QueueSummary, decide
from ascend_infer.scheduling.ragged import BatchAssembly, MadeInput, ScatteredOutput
from ascend_infer.scheduling.scheduler import Scheduler
from ascend_infer.signature import InputRule, OutputRule, Signature
from ascend_infer.types import DataType

NAMES = ("y",)


class HeldExecutable:
    """Gives x back; each run waits until the test lets it go on."""

    device, slots, interruptible, gathers = "cpu", 1, True, False

    def __init__(self) -> None:
        self.turns = threading.Semaphore(0)
        self.began = threading.Semaphore(0)
        self.fed: list[Mapping[str, Array]] = []
        self.refuses = 1_000

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[Array]:
        self.fed.append(inputs)
        self.began.release()
        assert self.turns.acquire(timeout=60)
        if len(inputs["x"]) > self.refuses:
            raise ModelExecutionError("too many at once", model="net")
        return [inputs["x"].copy()]


@contextmanager
def held(assembly: BatchAssembly | None = None) -> Iterator[tuple[HeldExecutable, Scheduler]]:
    executable = HeldExecutable()
    scheduler = Scheduler(
        "net",
        [executable],
        ("x",),
        batching=Batching(),
        max_batch_size=8,
        assembly=assembly,
        outputs=OutputShapes([("y", "y", None, assembly is not None)]),
    )
    try:
        yield executable, scheduler
    finally:
        executable.turns.release(100)
        assert scheduler.close()


def submit(scheduler: Scheduler, array: Array, key: object = None) -> tuple[Any, Future[Any]]:
    request = new_request([array], NAMES, len(array), key=key)
    future: Future[Any] = Future()
    scheduler.submit(request, future.set_result)
    return request, future


def occupy(executable: HeldExecutable, scheduler: Scheduler) -> Future[Any]:
    _, future = submit(scheduler, np.zeros((1, 1), np.float32))
    assert executable.began.acquire(timeout=60)
    return future


def test_ragged_requests_queue_up_and_go_together() -> None:
    counts = MadeInput(BatchInputKind.BATCH_ACCUMULATED_ELEMENT_COUNT, DataType.INT32, ("ends",), "x")
    assembly = BatchAssembly(
        "net", ("x",), frozenset(["x"]), (counts,), {"y": ScatteredOutput("x", (-1, -1))}
    )
    with held(assembly) as (executable, scheduler):
        futures = [occupy(executable, scheduler)]
        given = [np.full((1, n), n, np.float32) for n in (3, 1, 2)]
        futures += [submit(scheduler, array)[1] for array in given]
        executable.turns.release(100)
        ended = [future.result(60) for future in futures]
    assert [feed["ends"].tolist() for feed in executable.fed] == [[1], [3, 4, 6]]
    for request, array in zip(ended[1:], given, strict=True):
        assert np.array_equal(request.outputs[0], array)


def test_who_leaves_a_batch_that_is_run_again_in_halves_harms_nobody() -> None:
    with held() as (executable, scheduler):
        occupy(executable, scheduler)
        executable.refuses = 2
        sent = [submit(scheduler, np.full((1, 1), n, np.float32)) for n in range(4)]
        executable.turns.release()
        assert executable.began.acquire(timeout=60)
        for request, _ in sent[1:3]:
            assert scheduler.queue.cancel(request)
        executable.turns.release(3)
        ended = [future.result(60) for _, future in sent]
    assert [len(feed["x"]) for feed in executable.fed] == [1, 4, 2, 2]
    assert [None if request.error else request.outputs[0].item() for request in ended] == [0, None, None, 3]
    assert all(request.arrays is None for request in ended)


def test_as_many_answers_as_requests() -> None:
    lane = Lane(HeldExecutable(), "net_0", True)
    lane.serve = lambda: None
    queue = RequestQueue(
        "net",
        lanes=[lane],
        watch=lambda *_: None,
        rules=Batching().rules(8, ()),
        decide=decide,
        summary=QueueSummary(),
    )
    ended: list[Any] = []
    for n in range(2):
        queue.push(new_request([np.full((1, 1), n)], NAMES, 1), ended.append)
    batch = queue.take(lane)
    assert batch is not None
    with pytest.raises(ValueError, match="1 answers for 2 requests"):
        queue.complete(batch, [], [[np.zeros(1)]])
    queue.complete(batch, [], [[np.array([5])], [np.array([6])]])
    assert [request.outputs[0].tolist() for request in ended] == [[5], [6]]


def test_shape_tensors_of_other_values_do_not_share_a_batch() -> None:
    rules = [InputRule("x", "x", DataType.INT64, (1,))]
    signature = Signature("net", rules, [OutputRule("y", "y", DataType.INT64, (1,))], 8)
    config = ModelConfig(
        max_batch_size=8, input=(ModelInput(name="x", data_type=DataType.INT64, is_shape_tensor=True),)
    )
    with held() as (executable, scheduler):
        maker = request_maker(
            config, signature, ResultOrigin("net", 1, "cpu", lambda name: None, 8), scheduler
        )
        futures = [occupy(executable, scheduler)]
        for size in (4, 4, 7, 4):
            future: Future[Any] = Future()
            scheduler.submit(maker.make({"x": np.array([[size]])}), future.set_result)
            futures.append(future)
        executable.turns.release(100)
        for future in futures:
            future.result(60)
    assert [feed["x"].ravel().tolist() for feed in executable.fed[1:]] == [[4, 4], [7], [4]]
