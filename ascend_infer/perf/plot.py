"""Latency against throughput as a picture."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ascend_infer.errors import InvalidOptionError
from ascend_infer.figure import load_figure
from ascend_infer.perf.measurement import Measurement

__all__ = ["plot"]


def plot(
    path: str | os.PathLike[str],
    measurements: Sequence[Measurement],
    title: str,
    percentile: int | None = None,
) -> None:
    """Draw mean, median and a high percentile over throughput, one point a level, into a file.

    Parameters
    ----------
    path : path-like
        Its ending names the format: ``.png``, ``.svg``, ``.pdf``.
    measurements : sequence of Measurement
    title : str
    percentile : int, optional
        The high percentile; 99 where left out.

    Raises
    ------
    MissingDependencyError, InvalidOptionError
    """
    high = 99 if percentile is None else percentile
    figure = load_figure()(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    # In the order of the levels: where more load brings less throughput, the line turns back.
    rates = [one.throughput for one in measurements]
    lines = {
        f"p{high}": [one.latencies.percentiles[high] / 1e6 for one in measurements],
        "mean": [one.latencies.mean / 1e6 for one in measurements],
        "p50": [one.latencies.percentiles[50] / 1e6 for one in measurements],
    }
    for label, values in lines.items():
        axes.plot(rates, values, marker="o", label=label)
    for one, rate, value in zip(measurements, rates, lines[f"p{high}"], strict=True):
        axes.annotate(f"{one.level:g}", (rate, value), (0, 6), textcoords="offset points", ha="center")
    kind = "callers" if measurements and measurements[0].kind == "concurrency" else "requests/s asked for"
    axes.set(xlabel="throughput, inferences/s", ylabel="latency, ms", title=title)
    axes.margins(0.1)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.legend(title=f"numbers: {kind}")
    axes.grid(alpha=0.3)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:  # the latter: a format that matplotlib does not have
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidOptionError(
            f"the plot {os.fspath(path)} cannot be written: {reason}", option="plot", got=os.fspath(path)
        ) from error
