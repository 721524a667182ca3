"""One caller: sends requests one after the other and keeps their latencies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ascend_infer.perf.clock import Clock
from ascend_infer.perf.pacing import Pacing
from ascend_infer.perf.window import Tally

__all__ = ["Caller", "Infer"]

Infer = Callable[[Mapping[str, Any]], object]


class Caller:
    """A loop of requests, for one thread.

    Parameters
    ----------
    infer : callable
        Blocks until a request is answered.
    feeds : sequence of mapping
        Requests, sent round and round.
    first : int
        The one to begin with.
    pacing : Pacing
    clock : Clock
    failed : callable
        Told of the exception that ended the loop.
    """

    def __init__(
        self,
        infer: Infer,
        feeds: Sequence[Mapping[str, Any]],
        first: int,
        pacing: Pacing,
        clock: Clock,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._infer = infer
        self._feeds = feeds
        self._next = first
        self._pacing = pacing
        self._clock = clock
        self._failed = failed
        self._lock = threading.Lock()
        self._tally = Tally.empty()

    def run(self) -> None:
        """Send requests until there are no more; never raises."""
        infer, feeds, clock, pacing = self._infer, self._feeds, self._clock, self._pacing
        free = 0
        try:
            while (due := pacing.next()) is not None:
                feed = feeds[self._next % len(feeds)]
                self._next += 1
                begun = clock.now()
                infer(feed)
                ended = clock.now()
                with self._lock:
                    tally = self._tally
                    tally.latencies.append(ended - due)
                    # Late for another reason, a thread that had not started, is not late for want of callers.
                    tally.delayed += due < free
                    tally.busy_ns += ended - begun
                    tally.ended = ended
                free = ended
        except BaseException as error:
            self._failed(error)

    def take(self) -> Tally:
        """Return what has been counted since the last time; from any thread."""
        with self._lock:
            taken, self._tally = self._tally, Tally.empty()
        return taken
