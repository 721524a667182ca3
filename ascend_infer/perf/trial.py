"""Measuring one level: window after window until three agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ascend_infer.perf.clock import Clock
from ascend_infer.perf.latencies import Latencies
from ascend_infer.perf.server_times import ServerTimes
from ascend_infer.perf.settings import Settings
from ascend_infer.perf.stability import WINDOWS, is_stable
from ascend_infer.perf.window import Tally, Window

__all__ = ["Counted", "Trial"]

#: Nanoseconds between looks at a count.
_LOOK = 10_000_000
_SECOND = 1_000_000_000


class Counted(Protocol):
    """What is measured: a load at work."""

    @property
    def begun(self) -> int:
        """When it began."""

    @property
    def finished(self) -> bool:
        """No more requests come."""

    def wait(self, until: int) -> None:
        """Wait until a time."""

    def take(self) -> Tally:
        """Return what came in since the last time."""


class Trial:
    """The windows of one level.

    Parameters
    ----------
    load : Counted
    server : callable
        Returns the server's sums since it was loaded.
    clock : Clock
    settings : Settings
    passed : callable, optional
        Told of each window as it ends: its number, throughput, and its latencies.
    before : ServerTimes, optional
        The server's sums before the load began; for a fixed number of requests.
    least_span : int
        Nanoseconds that such a number takes at the rate it is sent at, at least.

    Attributes
    ----------
    stable : bool
    count : int
        Windows so far.
    """

    def __init__(
        self,
        load: Counted,
        server: Callable[[], ServerTimes],
        clock: Clock,
        settings: Settings,
        passed: Callable[[int, float, Latencies], None] | None = None,
        before: ServerTimes | None = None,
        least_span: int = 0,
    ) -> None:
        self._load = load
        self._server = server
        self._clock = clock
        self._settings = settings
        self._passed = passed
        self._before = before or ServerTimes()
        self._least_span = least_span
        self._throughputs: list[float] = []
        self._latencies: list[float] = []
        self._recent: list[Window] = []
        self.stable = False

    @property
    def count(self) -> int:
        """How many windows there were."""
        return len(self._throughputs)

    def run(self) -> list[Window]:
        """Measure; blocks. Returns the windows that count: the last three, or all where there are fewer."""
        settings = self._settings
        if settings.request_count:
            self._one_window()
            self.stable = True
            return self._recent
        begin, before = self._warm_up()
        while self.count < settings.max_trials:
            tally, end = self._fill(begin)
            after = self._server()
            self._keep(Window(end - begin, tally, after - before))
            begin, before = end, after
            self.stable = is_stable(self._throughputs, self._latencies, settings.stability_percentage)
            if self.stable or self._too_slow():
                break
        return self._recent

    def _warm_up(self) -> tuple[int, ServerTimes]:
        """Let the first requests pass; returns when counting begins and the server's sums then."""
        left = self._settings.warmup_requests
        begin = self._clock.now()
        while left > 0 and not self._load.finished:
            begin += _LOOK
            self._load.wait(begin)
            left -= len(self._load.take().latencies)
        self._load.take()  # what was answered before counting begins
        return self._clock.now(), self._server()

    def _fill(self, begin: int) -> tuple[Tally, int]:
        """Wait for one window's end; windows follow each other without a gap."""
        settings = self._settings
        if settings.mode == "time_windows":
            self._load.wait(begin + settings.interval_ms * 1_000_000)
            return self._load.take(), self._clock.now()
        tally, look = Tally.empty(), begin + _SECOND
        while True:
            self._load.wait(look)
            tally.add(self._load.take())
            if len(tally.latencies) >= settings.window_requests or self._load.finished:
                return tally, self._clock.now()
            look += _LOOK

    def _one_window(self) -> None:
        """Wait for the last of a fixed number of requests; the window is from the load's begin to that answer.

        At a rate it is not shorter than what that many requests take by it.
        """
        look = self._load.begun
        while not self._load.finished:
            look += _LOOK
            self._load.wait(look)
        tally = self._load.take()
        span = max(self._least_span, tally.ended - self._load.begun)
        self._keep(Window(span, tally, self._server() - self._before))

    def _keep(self, window: Window) -> None:
        latencies = Latencies.of(window.tally.latencies, self._settings.percentile)
        throughput = window.throughput(self._settings.batch)
        self._throughputs.append(throughput)
        # A window without an answer: the request takes longer than the window.
        self._latencies.append(
            latencies.stabilizing(self._settings.percentile) if latencies.count else float("inf")
        )
        self._recent = [*self._recent, window][-WINDOWS:]
        if self._passed is not None:
            self._passed(self.count, throughput, latencies)

    def _too_slow(self) -> bool:
        """Whether the last three windows had one that is over the limit: more of them would not help."""
        limit = self._settings.latency_limit_ms * 1e6
        recent = self._latencies[-WINDOWS:]
        return bool(limit) and len(recent) == WINDOWS and max(recent) >= limit
