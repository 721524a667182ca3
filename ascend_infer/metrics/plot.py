"""A session's numbers as a picture; see ``Session.plot_stats()``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from ascend_infer.figure import load_figure
from ascend_infer.metrics.histogram import Histogram, bucket_bounds
from ascend_infer.metrics.period import Period

__all__ = ["stats_figure"]

#: A request's steps, and a colour for each that is told apart without colour vision too.
_STEPS = (("queue", "#d55e00"), ("inputs", "#f0e442"), ("model", "#0072b2"), ("outputs", "#56b4e9"))

#: More bars than these are not numbered one by one.
_NUMBERED = 12


def stats_figure(title: str, periods: Sequence[Period]) -> Any:
    """Draw rates and times period by period, and waiting, computing and batches over all of them.

    Parameters
    ----------
    title : str
    periods : sequence of Period
        One after another; at least one.

    Returns
    -------
    matplotlib.figure.Figure
        Four axes: rates, times of a request by step, shares of requests by time, batches by their rows.

    Raises
    ------
    MissingDependencyError
    """
    figure = load_figure()(figsize=(10, 6.5), layout="constrained")
    rates, steps, shares, batches = figure.subplots(2, 2).flat
    whole = reduce(add, periods)
    _rates(rates, periods)
    _steps(steps, periods)
    _shares(shares, whole)
    _batches(batches, whole)
    figure.suptitle(f"{title}: {whole.requests:,} requests in {whole.seconds:.3g} s since the load")
    return figure


def _rates(axes: Any, periods: Sequence[Period]) -> None:
    numbers = range(1, len(periods) + 1)
    axes.plot(
        numbers,
        [one.rows_per_second for one in periods],
        "s-",
        color="#009e73",
        linewidth=4,
        alpha=0.5,
        label="rows/s",
    )
    axes.plot(
        numbers, [one.requests_per_second for one in periods], "o-", color="#0072b2", label="requests/s"
    )
    axes.plot(numbers, [one.batches_per_second for one in periods], "^-", color="#d55e00", label="batches/s")
    axes.set(title="rates", ylabel="per second")
    _finish(axes, periods)


def _steps(axes: Any, periods: Sequence[Period]) -> None:
    numbers = range(1, len(periods) + 1)
    times = [one.steps_ms or (0.0, 0.0, 0.0, 0.0) for one in periods]
    bottom = [0.0] * len(periods)
    for position, (name, colour) in enumerate(_STEPS):
        heights = [of_one[position] for of_one in times]
        axes.bar(numbers, heights, bottom=bottom, color=colour, label=name)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.set(title="where a request's time goes, mean", ylabel="ms")
    _finish(axes, periods)


def _finish(axes: Any, periods: Sequence[Period]) -> None:
    count = len(periods)
    axes.set_xlabel("stats() call to stats() call" if count > 1 else "since the load")
    axes.set_xlim(0.4, count + 0.6)
    if count <= _NUMBERED:
        axes.set_xticks(
            range(1, count + 1), [f"{n}\n{one.seconds:.2g} s" for n, one in enumerate(periods, 1)]
        )
    # The legend stands in a row above everything.
    axes.set_ylim(0, 1.2 * axes.dataLim.ymax or 1)
    axes.legend(loc="upper center", ncols=4, fontsize="small", columnspacing=1)
    axes.grid(alpha=0.3, axis="y")


def _shares(axes: Any, whole: Period) -> None:
    """For each time, the share of the requests that took no longer: queueing and in the model."""
    drawn = False
    for name, colour, phase in (("queue", "#d55e00", 1), ("model", "#0072b2", 3)):
        times, shares = _cumulative(whole.counters.histograms[phase])
        if times:
            axes.step(times, shares, where="post", color=colour, label=name)
            drawn = True
    axes.set(title="how long, for what share of the requests", xlabel="ms", ylabel="requests, %")
    axes.set_ylim(0, 102)
    axes.grid(alpha=0.3)
    if drawn:
        axes.set_xscale("log")
        axes.legend()


def _cumulative(histogram: Histogram) -> tuple[list[float], list[float]]:
    total, running = histogram.total, 0
    times: list[float] = []
    shares: list[float] = []
    for bucket, count in histogram.counts:
        running += count
        # A logarithmic axis has no 0: what took less than a nanosecond stands at one.
        times.append(max(bucket_bounds(bucket)[1] - 1, 1) / 1e6)
        shares.append(100 * running / total)
    return times, shares


def _batches(axes: Any, whole: Period) -> None:
    sizes = whole.counters.batch_sizes
    axes.bar([str(size.rows) for size in sizes], [size.executions for size in sizes], color="#009e73")
    mean, waste = whole.mean_batch, whole.padding_waste
    told = "" if mean is None else f", mean {mean:.3g} rows" + (f", {waste:.0%} padding" if waste else "")
    axes.set(title=f"batches{told}", xlabel="rows", ylabel="executions")
    axes.grid(alpha=0.3, axis="y")
