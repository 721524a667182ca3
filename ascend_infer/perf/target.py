"""What is put under load."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ascend_infer.perf.server_times import ServerTimes

if TYPE_CHECKING:
    from ascend_infer.session import Session

__all__ = ["SessionTarget", "Target"]


@runtime_checkable
class Target(Protocol):
    """Something that answers requests from many threads and keeps times of its own."""

    def infer(self, inputs: Mapping[str, Any], /) -> object:
        """Answer one request; blocks."""

    def times(self) -> ServerTimes:
        """Return the sums so far."""


class SessionTarget:
    """A session under load.

    Its times are those of ``Session.statistics``, which also count what was batched together; where the session keeps
    none, those of the results are added up.

    Parameters
    ----------
    session : Session
    rows : int
        Of each request.
    """

    def __init__(self, session: Session, rows: int) -> None:
        self._infer = session.infer
        self._statistics: Callable[[], Mapping[str, Any]] | None = getattr(session, "statistics", None)
        self._rows = rows
        self._lock = threading.Lock()
        self._count = self._input = self._queue = self._model = self._output = 0

    def infer(self, inputs: Mapping[str, Any], /) -> object:
        """Answer one request."""
        result = self._infer(inputs)
        if self._statistics is None:
            timing = result.timing
            with self._lock:
                self._count += 1
                self._input += timing.compute_input_ns
                self._queue += timing.queue_ns
                self._model += timing.compute_infer_ns
                self._output += timing.compute_output_ns
        return result

    def times(self) -> ServerTimes:
        """Return the sums so far."""
        if self._statistics is not None:
            return ServerTimes.of_statistics(self._statistics())
        with self._lock:
            parts = self._queue, self._input, self._model, self._output
            return ServerTimes(self._count * self._rows, self._count, self._count, sum(parts), *parts)
