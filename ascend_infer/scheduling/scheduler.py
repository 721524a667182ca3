"""Who runs when: the requests of one model on its instances.

A request that finds nothing queued and an instance idle runs on its caller's own thread. Otherwise it queues, and the
instances' threads take what the policy sends: one request at a time, or with a micro-batcher several together.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ascend_infer._native import (
    InferCall,
    Lane,
    LoopBridge,
    ModelCounters,
    OutputShapes,
    Request,
    RequestBatch,
    RequestFront,
    RequestQueue,
    RunTimes,
)
from ascend_infer.backends.base import Array, Deadline, Executable
from ascend_infer.device_pointer import wait_until_returned
from ascend_infer.errors import ClosedError, DeadlineExceededError, RequestCancelledError
from ascend_infer.output_array import fill_out
from ascend_infer.scheduling import timekeeper
from ascend_infer.scheduling.batching import Batching
from ascend_infer.scheduling.execution import BatchRunner
from ascend_infer.scheduling.gear_costs import CostSource, GearCosts
from ascend_infer.scheduling.hang_watch import HangWatch
from ascend_infer.scheduling.instance_state import InstanceState
from ascend_infer.scheduling.lane_thread import LaneThread
from ascend_infer.scheduling.policy import QueueSummary, decide
from ascend_infer.scheduling.ragged import BatchAssembly
from ascend_infer.scheduling.recovery import Recovery
from ascend_infer.timeouts import seconds_given

__all__ = ["Scheduler"]

#: Seconds that a run which nobody wants any more may go on before its instance is given up.
_PATIENCE = 2.0

#: Seconds between two looks at what callers' own threads still run while a session is closed.
_LOOK = 0.002

_MAIN = threading.main_thread().ident


class Scheduler:
    """Runs the requests of one model.

    Parameters
    ----------
    model : str
    executables : sequence of Executable
        One for each instance; each runs ``slots`` batches at a time.
    model_inputs : sequence of str
        The model's own names, in the order of a request's arrays.
    batching : Batching, optional
        Without it each request runs by itself.
    max_batch_size : int
    costs : CostSource, optional
        Who measures what batches cost in the model's compiled sizes; batches are then cut where that costs less.
    counters : mapping of str to ModelCounters, optional
        By device. A request that no instance has taken counts in the first.
    bisects : bool
        Whether a batch that the model failed on may be run again in parts.
    assembly : BatchAssembly, optional
        What makes batches of a model that takes more than rows.
    outputs : OutputShapes, optional
        What each run's outputs are held against; left out, their rows alone.
    patience : float
        Seconds that a run which nobody wants any more may go on before its instance is given up.

    Notes
    -----
    Thread safety: all methods may be called from any number of threads.
    """

    def __init__(
        self,
        model: str,
        executables: Sequence[Executable],
        model_inputs: Sequence[str],
        *,
        batching: Batching | None = None,
        max_batch_size: int = 0,
        costs: CostSource | None = None,
        counters: Mapping[str, ModelCounters] | None = None,
        bisects: bool = True,
        assembly: BatchAssembly | None = None,
        outputs: OutputShapes | None = None,
        patience: float = _PATIENCE,
    ) -> None:
        self.model = model
        self.instances = [
            InstanceState(f"{model}_{i}", executable.device, executable.slots)
            for i, executable in enumerate(executables)
        ]
        counted = counters or {}
        at_once = _runs_at_once(batching, max_batch_size)
        lanes = [
            Lane(executable, instance.name, at_once, instance, counted.get(instance.device))
            for instance, executable in zip(self.instances, executables, strict=True)
            for _ in range(executable.slots)
        ]
        self._model_inputs = tuple(model_inputs)
        self._assembly = assembly
        self._lanes = lanes
        self._durations: dict[object, int] = {}
        self._times = RunTimes(self._durations)
        self._bridges: dict[asyncio.AbstractEventLoop, LoopBridge] = {}
        options: dict[str, Any] = {}
        if batching is not None:
            options = {
                "rules": batching.rules(max_batch_size),
                "ordered": batching.preserve_ordering,
                "level_rules": batching.levels(),
                "level_of": batching.level_of if batching.priority_levels else None,
            }
            if max_batch_size > 1:
                options |= {"decide": decide, "summary": QueueSummary()}
        self.batching = batching
        self.queue = RequestQueue(
            model,
            lanes=lanes,
            watch=timekeeper.watch,
            abandoned=self._abandoned,
            recover=self._recover,
            counters=next(iter(counted.values()), None),
            **options,
        )
        self.queue.expect(outputs or OutputShapes(batched=max_batch_size > 0))
        self._recovery = Recovery(lanes)
        self._hangs = HangWatch(self.queue, lanes, patience)
        learnt = None
        if costs is not None and "decide" in options:
            learnt = GearCosts(costs, self.queue, options["rules"])
        self._runner = BatchRunner(
            self.queue, self._model_inputs, bisects=bisects, costs=learnt, assembly=assembly
        )
        self._threads = {lane: self._thread_of(lane) for lane in lanes}

    def _thread_of(self, lane: Lane) -> LaneThread:
        return LaneThread(self.queue, self._runner, lane, self._back)

    def _recover(self, lane: Lane) -> None:
        self._recovery.run(self.queue, lane)

    def _abandoned(self, batch: RequestBatch) -> None:
        self._hangs.abandoned(batch)

    def _back(self, lane: Lane) -> None:
        self._hangs.thread_ended(lane, partial(self._renew, lane))

    def _renew(self, lane: Lane) -> None:
        self._threads[lane] = self._thread_of(lane)

    def front(
        self,
        signature: Any,
        origin: Any,
        result: Callable[..., Any],
        keyed: Sequence[str],
        *,
        plain: bool = True,
    ) -> RequestFront:
        """Return the quick way from a session's calls to results; where not ``plain`` it settles nothing."""
        rules = list(signature.output_rules.values())
        plain = plain and self._assembly is None and all(rule.reshape is None for rule in rules)
        return RequestFront(
            self.queue,
            signature,
            origin,
            result,
            names=[rule.model_name for rule in rules],
            public_names=[rule.name for rule in rules] if plain else None,
            model_inputs=self._model_inputs,
            keyed=frozenset(keyed),
            times=self._times,
        )

    def occupation(self, device: str | None = None) -> tuple[int, int, int, int, int]:
        """Count one device's, or all instances: ready, not ready, slots, busy slots, threads in runs given up."""
        here = [instance for instance in self.instances if device in (None, instance.device)]
        lanes = [lane for lane in self._lanes if device in (None, lane.instance.device)]
        ready = sum(instance.state == "READY" for instance in here)
        busy = sum(lane.batch is not None for lane in lanes)
        abandoned = sum(len(instance.hanging) for instance in here)
        return ready, len(here) - ready, len(lanes), busy, abandoned

    @property
    def room(self) -> int:
        """How many requests of the default priority may wait; 0 for any number."""
        batching = self.batching
        return 0 if batching is None else batching.levels()[batching.level_of(0)].max_requests

    @property
    def lane_count(self) -> int:
        """How many batches may run at the same time."""
        return len(self._lanes)

    @property
    def live_threads(self) -> int:
        """How many threads run: those of lanes, and one where callbacks are called apart."""
        return sum(thread.alive for thread in list(self._threads.values())) + self.queue.calling

    def run(self, request: Request, out: Mapping[str, Array] | None = None) -> list[Array]:
        """Run one request; blocks until it is done or its timeout has passed.

        Parameters
        ----------
        request : Request
        out : mapping of str to ndarray, optional
            By the model's own names; see ``Executable.execute``.

        Raises
        ------
        DeadlineExceededError, RequestCancelledError, QueueFullError, ClosedError
        ModelExecutionError
        KeyboardInterrupt
            On the main thread; the run was told to stop.
        """
        given = request.arrays
        away = self._goes_to_thread(request) and not self.queue.serves_here()
        if away or not self.queue.run_here(request, partial(self._execute, request, out)):
            try:
                self.queue.run_queued(request)
            except BaseException:
                # An instance may be reading the caller's memory on the device.
                wait_until_returned(dict(zip(self._model_inputs, given, strict=True)))
                raise
            ran_here = False
        else:
            ran_here = True
        batch = request.batch
        if not self._lanes[0].interruptible and batch is not None and batch.count == 1:
            self._times.remember(given, batch.computed - batch.begun)
        arrays = request.take_outputs()
        # Nothing writes into the caller's own arrays once the caller has left.
        return fill_out(request.names, arrays, out) if out and not ran_here else arrays

    def submit(
        self, request: Request, on_done: Callable[[Request], Callable[[], None] | None], block: bool = False
    ) -> None:
        """Queue a request; returns at once, or when there is room. ``on_done`` as for ``RequestQueue.push``."""
        self.queue.push(request, on_done, waits=block)

    def await_in_loop(self, request: Request, finish: Callable[[Request], Any]) -> InferCall:
        """Queue a request whose result the running event loop awaits."""
        loop = asyncio.get_running_loop()
        bridge = self._bridges.get(loop)
        if bridge is None:
            for other in list(self._bridges):
                if other.is_closed():
                    self._bridges.pop(other, None)
            bridge = self._bridges[loop] = LoopBridge(loop)
        return bridge.call(self.queue, request, finish)

    def close(self, timeout: float = 5.0, cancel_pending: bool = False) -> bool:
        """Let queued and running requests finish, for at most ``timeout`` seconds, then tell them to stop.

        Returns
        -------
        bool
            Whether every lane's thread has ended. Callbacks that go on are waited for, but hold no instance.
        """
        self.queue.close(cancel_pending)
        if self._drain(timeout):
            return True
        self.queue.close(cancel_pending=True)
        self._stop_runs()
        if self._drain(1.0):
            return True
        error = ClosedError(f"model {self.model!r}: the session was closed while this request's run hung")
        for lane, thread in self._threads.items():
            batch = lane.batch
            if thread.alive and batch is not None:
                self.queue.desert(batch, error)
        return False

    def _drain(self, timeout: float) -> bool:
        """Wait until nothing waits or runs and every thread has ended, but for the caller's own run."""
        deadline = time.monotonic() + timeout
        while True:
            ended = [thread.join(deadline - time.monotonic()) for thread in list(self._threads.values())]
            own = sum(thread.is_current for thread in list(self._threads.values()))
            # Runs on callers' own threads end there; what waits behind them is served by threads that start then.
            over = all(ended) and not self.queue.count and self.queue.running <= own
            late = time.monotonic() >= deadline
            if over and (late or not self.queue.calls_elsewhere):
                return True
            if late:
                return False
            time.sleep(_LOOK)

    def abandon(self) -> None:
        """Let the threads end by themselves when all is answered; returns at once, so that a finalizer may call it."""
        self.queue.close()

    def _stop_runs(self) -> None:
        for lane in self._lanes:
            batch = lane.batch
            if batch is not None and batch.cancellation is not None:
                batch.cancellation.request()

    def _goes_to_thread(self, request: Request) -> bool:
        """Whether the caller could want to leave before the run ends, which only a wait for another thread allows."""
        if self._lanes[0].interruptible:
            return False
        # How long runs of these shapes took says nothing of one that hangs.
        return bool(request.timeout) or (
            threading.get_ident() == _MAIN and self._times.takes_long(request.arrays)
        )

    def _execute(self, request: Request, out: Mapping[str, Array] | None, lane: Lane) -> list[Array]:
        deadline = None
        if request.timeout:
            deadline = Deadline((request.called + request.timeout - time.perf_counter_ns()) / 1e9)
            if not lane.interruptible:
                # In a callback, on the lane's own thread: nobody else could take it.
                timekeeper.at(request.called + request.timeout, deadline, _stop)
        gathered = None
        if self._assembly is not None:
            gathered = self._assembly.gather([request])
            feed = gathered.feed
            out = self._assembly.targets(out)
        else:
            feed = {
                name: array
                for name, array in zip(self._model_inputs, request.arrays, strict=True)
                if array is not None
            }
        try:
            # Where the run tells what it came to, it tells the batch.
            told = (lane.batch,) if lane.reports else ()
            arrays: list[Array] = lane.executable.execute(feed, request.names, out, deadline, *told)
        except RequestCancelledError:
            if deadline is None:
                raise
            raise self._too_late(request) from None
        if deadline is not None and deadline.requested:
            # The wish is looked at now and then only, or not at all; late is late.
            raise self._too_late(request)
        self.queue.check(request, arrays)
        return arrays if gathered is None else gathered.answers(request.names, arrays)[0]

    def _too_late(self, request: Request) -> DeadlineExceededError:
        timeout = seconds_given(request.timeout)
        return DeadlineExceededError(
            f"model {self.model!r}: no result within the timeout of {timeout:g} s", timeout=timeout
        )


def _stop(deadline: Deadline) -> int:
    deadline.request()
    return 0


def _runs_at_once(batching: Batching | None, max_batch_size: int) -> bool:
    """Whether an idle instance takes a request at once, on its caller's thread: no company is waited for."""
    if batching is None:
        return True
    return not batching.preserve_ordering and (
        max_batch_size < 2 or not batching.max_queue_delay_microseconds
    )
