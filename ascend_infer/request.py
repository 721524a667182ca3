"""From a call's arguments to a request, and from what came of it to a result."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ascend_infer._native import OutputShapes, Request, RequestFront, RequestQueue, new_request
from ascend_infer.device_pointer import DevicePointer
from ascend_infer.errors import RequestError
from ascend_infer.input_array import Casting
from ascend_infer.options import checked_request_id
from ascend_infer.result import InferResult, ResultOrigin
from ascend_infer.signature import Array, Prepared, Signature
from ascend_infer.timeouts import nanoseconds

__all__ = ["RequestMaker", "output_shapes"]


@dataclass(frozen=True, slots=True)
class RequestMaker:
    """Makes requests of one session, and results of them.

    Attributes
    ----------
    signature : Signature
    origin : ResultOrigin
    front : RequestFront
        The quick way, for plain arrays.
    queue : RequestQueue
    model_inputs : tuple of str
        The model's own names, in the order of a request's arrays.
    keyed : tuple of str
        Inputs whose shapes, the batch aside, must be the same in all requests of a batch, by the model's names.
    valued : tuple of str
        Inputs whose values must be the same (shape tensors).
    """

    signature: Signature
    origin: ResultOrigin
    front: RequestFront
    queue: RequestQueue
    model_inputs: tuple[str, ...]
    keyed: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()

    def make(
        self,
        inputs: Any,
        outputs: Sequence[str] | None = None,
        timeout: float | None = None,
        request_id: str = "",
        batched: bool = True,
        casting: Casting = "no",
        priority: int = 0,
    ) -> Request:
        """Check a call's inputs; see ``Session.infer``.

        Raises
        ------
        InvalidInputError
        """
        if outputs is None and timeout is None and batched is True and not priority:
            request = self.front.request(inputs, request_id)
            if request is not None:
                return request
        with self.counting_refusals():
            prepared = self.signature.prepare({} if inputs is None else inputs, outputs, casting, batched)
        return self.request_of(prepared, timeout, request_id, priority)

    @contextmanager
    def counting_refusals(self) -> Iterator[None]:
        """Count a request that turns out to be wrong among the failures; the error goes on."""
        began = time.perf_counter_ns()
        try:
            yield
        except RequestError:
            self.queue.count_refused(time.perf_counter_ns() - began)
            raise

    def request_of(
        self, prepared: Prepared, timeout: float | None = None, request_id: str = "", priority: int = 0
    ) -> Request:
        """Return the request of inputs that have been checked."""
        # From here on the request alone holds the arrays, and it lets go of them when it is done.
        feed, prepared.feed = prepared.feed, {}
        return new_request(
            [feed.get(name) for name in self.model_inputs],
            prepared.names,
            prepared.batch,
            prepared=prepared,
            key=self._key(feed),
            request_id=checked_request_id(request_id),
            level=priority,
            called=prepared.called,
            timeout=nanoseconds(timeout),
        )

    def result(self, request: Request) -> InferResult:
        """Return what came of a request that is done; raises its error."""
        if request.prepared is None:
            result: InferResult = self.front.result_of(request)
            return result
        if request.error is not None:
            raise request.error
        return self.finish(request, request.take_outputs())

    def finish(self, request: Request, arrays: list[Array]) -> InferResult:
        """Return the result of a request with these outputs."""
        return InferResult(self.signature.finish(request.prepared, arrays), self.origin, request)

    def _key(self, feed: Mapping[str, Any]) -> object:
        if any(type(value) is DevicePointer for value in feed.values()):
            return object()  # memory on the device is not gathered: such a request runs by itself
        if len(feed) == len(self.model_inputs) and not self.valued:
            return tuple([feed[name].shape[1:] for name in self.keyed]) if self.keyed else None
        shapes = tuple([feed[name].shape[1:] if name in feed else None for name in self.keyed])
        values = tuple([feed[name].tobytes() if name in feed else None for name in self.valued])
        return (shapes, values, frozenset(feed))


def output_shapes(
    signature: Signature, *, unsure: bool = False, guessed: bool = False, scattered: Container[str] = ()
) -> OutputShapes:
    """Return what the outputs of a model's runs are held against.

    Parameters
    ----------
    signature : Signature
    unsure : bool
        Whether outputs may have other dims than the signature says: only their rows count then.
    guessed : bool
        Whether the batch dimension was taken for granted, because all tensors begin with -1: a request that runs by
        itself gets what the model gives then, as a detector with as many boxes as it finds.
    scattered : container of str
        Outputs, by the model's names, that hold the requests' parts end to end.
    """
    return OutputShapes(
        [
            (
                rule.model_name,
                rule.name,
                None if unsure or rule.dims == (-2,) else rule.dims if rule.reshape is None else rule.reshape,
                rule.model_name in scattered,
            )
            for rule in signature.output_rules.values()
        ],
        batched=signature.max_batch_size > 0,
        guessed=guessed,
    )
