"""A batch's way through an instance, on a lane's own thread: gather, run, hand out; what to do when that fails."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ascend_infer._native import Lane, RequestBatch, RequestQueue
from ascend_infer.backends.base import Array, Cancellation
from ascend_infer.errors import AscendInferError, ModelExecutionError, RequestCancelledError
from ascend_infer.scheduling.gear_costs import GearCosts
from ascend_infer.scheduling.ragged import BatchAssembly

__all__ = ["BatchRunner"]

#: Reasons of Triton's nv_inference_request_failure, as the compiled queue numbers them.
_CANCELED, _BACKEND, _OTHER = 1, 2, 3


class BatchRunner:
    """Runs batches of one model; never raises.

    Parameters
    ----------
    queue : RequestQueue
        Told what came of each batch.
    model_inputs : sequence of str
        The model's own names, in the order of a request's arrays.
    bisects : bool
        Whether a batch that the model failed on is run again in halves, so that a bad request fails alone. Only for
        models that may run a request twice.
    costs : GearCosts, optional
        Looked at after each batch.
    assembly : BatchAssembly, optional
        What makes batches of a model that takes more than rows.
    """

    def __init__(
        self,
        queue: RequestQueue,
        model_inputs: Sequence[str],
        *,
        bisects: bool,
        costs: GearCosts | None = None,
        assembly: BatchAssembly | None = None,
    ) -> None:
        self._queue = queue
        self._costs = costs
        self._inputs = tuple(model_inputs)
        self._bisects = bisects
        self._assembly = assembly

    def run(self, lane: Lane, batch: RequestBatch) -> None:
        """Run a batch that the lane has taken."""
        try:
            self._execute(lane, batch)
        except ModelExecutionError as error:
            if self._bisects and batch.requests is not None and batch.count > 1:
                for half in self._queue.split(batch):
                    half.begin()
                    lane.batch = half
                    self.run(lane, half)
            else:
                self._fail(batch, error, _BACKEND)
        except RequestCancelledError as error:
            self._fail(batch, error, _CANCELED)
        except MemoryError as error:
            self._fail(batch, error, _OTHER)
        except AscendInferError as error:
            self._fail(batch, error, _BACKEND)
        except BaseException as error:
            failure = ModelExecutionError(
                f"model {self._queue.model!r} failed: {type(error).__name__}: {error}",
                model=self._queue.model,
            )
            failure.__cause__ = error
            self._fail(batch, failure, _BACKEND)
        else:
            if self._costs is not None:
                self._costs.look()
            return
        self._queue.after_failure(lane)

    def _execute(self, lane: Lane, batch: RequestBatch) -> None:
        if not batch.wanted:
            self._queue.drop(batch)
            return
        executable = lane.executable
        cancellation = None
        if batch.may_be_left:
            cancellation = batch.cancellation = Cancellation()
        gathered = None
        if self._assembly is not None:
            gathered = self._assembly.gather(batch.requests or ())
            feed = gathered.feed
        else:
            parts = batch.parts(executable.gathers)
            feed = {name: part for name, part in zip(self._inputs, parts, strict=True) if part is not None}
        arrays: list[Array]
        if lane.reports:
            arrays = executable.execute(feed, batch.names, None, cancellation, batch)
        else:
            batch.gathered = time.perf_counter_ns()
            arrays = executable.execute(feed, batch.names, None, cancellation)
            batch.computed = time.perf_counter_ns()
        answers = None if gathered is None else gathered.answers(batch.names, arrays)
        self._queue.complete(batch, arrays, answers)

    def _fail(self, batch: RequestBatch, error: BaseException, reason: int) -> None:
        if batch.requests is not None:
            self._queue.fail(batch, error, reason)
