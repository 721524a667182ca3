"""Models whose runs a test lets in and out by hand, behind a real scheduler and the real calls of a session."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ascend_infer._native import ModelCounters, Request, new_request
from ascend_infer.backends.base import Array, Cancellation
from ascend_infer.calls import Calls
from ascend_infer.config import parse_config
from ascend_infer.errors import RequestCancelledError
from ascend_infer.loading import request_maker
from ascend_infer.request import RequestMaker, output_shapes
from ascend_infer.result import ResultOrigin
from ascend_infer.scheduling.batching import Batching
from ascend_infer.scheduling.scheduler import Scheduler
from ascend_infer.signature import InputRule, OutputRule, Signature
from ascend_infer.types import DataType

LIMIT = 60.0  # seconds; reached only by a test that fails


class Run:
    """One execution."""

    def __init__(self, inputs: Mapping[str, Array], outputs: Sequence[str]) -> None:
        self.inputs = dict(inputs)
        self.outputs = tuple(outputs)
        self.thread = threading.get_ident()
        self.over = threading.Event()
        self.error: BaseException | None = None
        self.cancelled = False

    @property
    def rows(self) -> int:
        return len(next(iter(self.inputs.values())))

    @property
    def values(self) -> list[float]:
        """The first number of each row."""
        array = next(iter(self.inputs.values()))
        return [float(row) for row in array.reshape(len(array), -1)[:, 0]]

    def release(self, error: BaseException | None = None) -> None:
        self.error = error
        self.over.set()

    def cancel(self) -> None:
        self.cancelled = True
        self.over.set()


class HeldModel:
    """y is twice x, z is x + 1; while ``held``, each run ends only when the test releases it."""

    device = "cpu"
    interruptible = False
    gathers = False

    def __init__(self, *, slots: int = 1, held: bool = False, stops: bool = False) -> None:
        self.slots = slots
        self.held = held
        self.stops = stops
        self.runs: list[Run] = []
        self.entered: queue.Queue[Run] = queue.Queue()
        self.answer: Callable[[Run], list[Array]] = self.computed

    def computed(self, run: Run) -> list[Array]:
        x = run.inputs["x"]
        return [2 * x if name == "y" else x + 1 for name in run.outputs]

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[Array]:
        run = Run(inputs, outputs)
        self.runs.append(run)
        if self.held:
            if cancellation is not None and self.stops:
                cancellation.arm(run.cancel)
            self.entered.put(run)
            assert run.over.wait(LIMIT), "a run was never released"
            if cancellation is not None and self.stops:
                cancellation.disarm()
        if run.cancelled:
            raise RequestCancelledError("stopped")
        if run.error is not None:
            raise run.error
        arrays = self.answer(run)
        if out:
            for name, array in zip(outputs, arrays, strict=True):
                if name in out:
                    out[name][...] = array
            return [out.get(name, array) for name, array in zip(outputs, arrays, strict=True)]
        return arrays

    def next_run(self) -> Run:
        return self.entered.get(timeout=LIMIT)

    def release_all(self) -> None:
        self.held = False
        for run in list(self.runs):
            run.release(run.error)


class Core(NamedTuple):
    requests: RequestMaker
    scheduler: Scheduler
    origin: ResultOrigin


class HeldSession(Calls):
    """A session's calls over held models; ``with`` lets every run go and closes."""

    _cast = "no"

    def __init__(
        self,
        *models: HeldModel,
        batching: Batching | None = None,
        max_batch_size: int = 8,
        dims: tuple[int, ...] = (4,),
        ragged: bool = False,
        patience: float = 2.0,
        bisects: bool = True,
        counters: Mapping[str, ModelCounters] | None = None,
    ) -> None:
        self.models = models
        self.counters = ModelCounters()
        listed = ", ".join(map(str, dims))
        config = parse_config(
            f'name: "m" backend: "onnxruntime" max_batch_size: {max_batch_size} '
            f'input {{ name: "x" data_type: TYPE_FP32 dims: [ {listed} ] '
            f"{'allow_ragged_batch: true' if ragged else ''} }} "
            + " ".join(
                f'output {{ name: "{name}" data_type: TYPE_FP32 dims: [ {listed} ] }}' for name in "yz"
            )
        ).config
        signature = Signature(
            "m",
            [InputRule("x", "x", DataType.FP32, dims)],
            [OutputRule(name, name, DataType.FP32, dims) for name in "yz"],
            max_batch_size,
        )
        self.scheduler = Scheduler(
            "m",
            models,
            ["x"],
            batching=batching,
            max_batch_size=max_batch_size,
            counters=counters or {model.device: self.counters for model in models},
            bisects=bisects,
            outputs=output_shapes(signature),
            patience=patience,
        )
        origin = ResultOrigin("m", 1, "cpu", lambda name: None, max_batch_size)
        self._core = Core(  # type: ignore[assignment]
            request_maker(config, signature, origin, self.scheduler), self.scheduler, origin
        )
        self.queue = self.scheduler.queue

    def _opened(self) -> Any:
        return self._core

    def __enter__(self) -> HeldSession:
        return self

    def __exit__(self, *exception: object) -> None:
        for model in self.models:
            model.release_all()
        assert self.scheduler.close(LIMIT, cancel_pending=True)


class Caller(threading.Thread):
    """Calls something on a thread of its own; ``outcome()`` waits for what came of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._result: Any = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:
            self.error = error

    def outcome(self) -> Any:
        self.join(LIMIT)
        assert not self.is_alive(), "the call never ended"
        if self.error is not None:
            raise self.error
        return self._result


def rows(value: float, count: int = 1, width: int = 4) -> dict[str, Array]:
    return {"x": np.full((count, width), value, np.float32)}


def request(value: float, count: int = 1, *, key: object = None, timeout: int = 0, level: int = 0) -> Request:
    return new_request(
        [rows(value, count)["x"]],
        ("y",),
        count,
        key=key,
        timeout=timeout,
        level=level,
        request_id=f"{value:g}",
    )


def until(condition: Callable[[], object]) -> None:
    """Let other threads run until something is so."""
    import os
    import time

    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        with suppress(AttributeError):
            os.sched_yield()
