"""Measuring two ways side by side, and printing a row that says how to get it again."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence

Call = Callable[[], object]


def pair(base: Call, ours: Call, rounds: int, calls: int) -> tuple[float, float, float]:
    """Time two calls in turn, A B A B, so that a machine that changes speed changes both.

    Returns
    -------
    tuple of float
        Seconds per call of each (the best round), and the median over rounds of the ratio ours / base.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for call in (base, ours):
        for _ in range(min(calls, 100)):
            call()
    for _ in range(rounds):
        for call, found in zip((base, ours), times, strict=True):
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            found.append((time.perf_counter() - begin) / calls)
    ratios = [b / a for a, b in zip(*times, strict=True)]
    return min(times[0]), min(times[1]), statistics.median(ratios)


def in_threads(calls: Sequence[Callable[[], object]]) -> float:
    """Run each call on a thread of its own, begun together; returns the seconds until all have ended.

    Raises
    ------
    Exception
        What a call raised first: a thread that ended early did not do the work that a rate would count.
    """
    begin = threading.Barrier(len(calls) + 1)
    failures: list[BaseException] = []

    def work(call: Callable[[], object]) -> None:
        begin.wait()
        try:
            call()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    begin.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - started
    if failures:
        raise failures[0]
    return took


def machine() -> str:
    """Say what this ran on."""
    import onnxruntime

    return (
        f"{platform.machine()}, {len(os.sched_getaffinity(0))} CPUs, Python {platform.python_version()}, "
        f"onnxruntime {onnxruntime.__version__}"
    )


def row(what: str, figure: str, budget: str) -> None:
    """Print one row of the table: what, the figure, the budget, the command."""
    command = " ".join(["python", *sys.argv])
    print(f"| {what} | {figure} | {budget} | `{command}` |")
