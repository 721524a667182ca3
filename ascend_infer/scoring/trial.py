"""How often a model runs in a second, with as many callers as there are places at the device."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ascend_infer.scoring.lanes import lanes_of
from ascend_infer.scoring.model import ScoredSession

__all__ = ["runs_a_second"]

#: Seconds.
_LENGTH = 0.1


def runs_a_second(session: ScoredSession, feed: Mapping[str, Any]) -> float:
    """Run one request again and again for a moment; blocks. No thread of it is left, whatever happens.

    Raises
    ------
    Exception
        What a run raised; the others have ended with the run that they were in.
    KeyboardInterrupt
        Likewise.
    """
    trial = _Trial(session, feed)
    threads = [threading.Thread(target=trial.serve, daemon=True) for _ in range(1, lanes_of(session))]
    try:
        for thread in threads:
            thread.start()
        trial.call()
    except BaseException:
        trial.stopped = True
        raise
    finally:
        trial.join(threads)
    if trial.failures:
        raise trial.failures[0]
    return trial.runs / (time.perf_counter() - trial.begun)


class _Trial:
    def __init__(self, session: ScoredSession, feed: Mapping[str, Any]) -> None:
        self._session = session
        self._feed = feed
        self._lock = threading.Lock()
        self.begun = time.perf_counter()
        self.runs = 0
        self.failures: list[BaseException] = []
        self.stopped = False

    def call(self) -> None:
        """Run until the time is over, twice at least, or until a run of any caller failed."""
        done = 0
        while not self.stopped and (done < 2 or time.perf_counter() < self.begun + _LENGTH):
            self._session.infer(self._feed)
            done += 1
        with self._lock:
            self.runs += done

    def serve(self) -> None:
        """Do so on a thread, which has nobody to raise to."""
        try:
            self.call()
        except BaseException as error:
            self.failures.append(error)
            self.stopped = True

    def join(self, threads: Sequence[threading.Thread]) -> None:
        """Wait for each thread's end, through Ctrl-C too, which is raised afterwards."""
        interrupt: KeyboardInterrupt | None = None
        for thread in threads:
            while thread.is_alive():
                try:
                    thread.join()
                except KeyboardInterrupt as error:
                    self.stopped, interrupt = True, error
        if interrupt is not None:
            raise interrupt
