"""Callers in threads, for as long as one level is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ascend_infer.perf.caller import Caller, Infer
from ascend_infer.perf.clock import Clock
from ascend_infer.perf.pacing import Pacing
from ascend_infer.perf.window import Tally

__all__ = ["Load"]


class Load:
    """Some callers at work; used with ``with``, whose end stops them and waits for their last answers.

    Parameters
    ----------
    infer : callable
        May be called by all callers at the same time.
    feeds : sequence of mapping
    callers : int
    pacing : callable
        Makes the pacing that they share, of the event that stops it.
    clock : Clock

    Attributes
    ----------
    begun : int
        When it began.

    Notes
    -----
    ``take`` and ``wait`` are for the thread that made the load.
    """

    def __init__(
        self,
        infer: Infer,
        feeds: Sequence[Mapping[str, Any]],
        callers: int,
        pacing: Callable[[threading.Event], Pacing],
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self.begun = clock.now()
        shared = pacing(self._stop)
        self._callers = [Caller(infer, feeds, index, shared, clock, self._fail) for index in range(callers)]
        self._threads = [
            threading.Thread(target=caller.run, name=f"ascend-infer-perf-{index}", daemon=True)
            for index, caller in enumerate(self._callers)
        ]

    def __enter__(self) -> Load:
        try:
            for thread in self._threads:
                thread.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def finished(self) -> bool:
        """No caller is at work any more."""
        return not any(thread.is_alive() for thread in self._threads)

    def wait(self, until: int) -> None:
        """Wait until a time, or until a request fails.

        Raises
        ------
        Exception
            What the request raised.
        """
        self._clock.sleep_until(until, self._stop)
        self._raise_failure()

    def take(self) -> Tally:
        """Return what all callers have counted since the last time.

        Raises
        ------
        Exception
            What a request raised.
        """
        self._raise_failure()
        total = Tally.empty()
        for caller in self._callers:
            total.add(caller.take())
        return total

    def stop(self) -> None:
        """Send no more requests, and wait for the last answers; idempotent."""
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._stop.set()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
