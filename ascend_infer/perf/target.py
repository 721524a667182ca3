"""What is put under load."""

from __future__ import annotations

from collections.abc import Mapping
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
    """A session under load. Its times are those of ``Session.statistics``, which also count what was batched together.

    Parameters
    ----------
    session : Session
    """

    def __init__(self, session: Session) -> None:
        self.infer = session.infer
        self._statistics = session.statistics

    def times(self) -> ServerTimes:
        """Return the sums so far."""
        return ServerTimes.of_statistics(self._statistics())
