"""A clock that the tests move, and an engine that takes as long as they say."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from ascend_infer.perf.server_times import ServerTimes


class FakeClock:
    def __init__(self) -> None:
        self.time = 1_000_000_000

    def now(self) -> int:
        return self.time

    def sleep_until(self, when: int, stop: threading.Event) -> None:
        self.time = max(self.time, when)


class FakeEngine:
    """Answers by moving the clock; stops the load after the last of its times."""

    def __init__(self, clock: FakeClock, service_ms: Iterable[float], stop: threading.Event) -> None:
        self.clock = clock
        self.left = [round(ms * 1e6) for ms in service_ms]
        self.stop = stop
        self.fed: list[Mapping[str, Any]] = []

    def infer(self, feed: Mapping[str, Any], /) -> None:
        self.fed.append(feed)
        self.clock.time += self.left.pop(0)
        if not self.left:
            self.stop.set()

    def times(self) -> ServerTimes:
        return ServerTimes()
