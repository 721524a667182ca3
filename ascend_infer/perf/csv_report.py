"""perf_analyzer's CSV file, column by column."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence

from ascend_infer.errors import InvalidOptionError
from ascend_infer.perf.latencies import percents
from ascend_infer.perf.measurement import Measurement

__all__ = ["csv_header", "csv_row", "write_csv"]

_SERVER_PARTS = ("queue", "input", "infer", "output")


def csv_header(kind: str, percentile: int | None = None, verbose: bool = False) -> list[str]:
    """Return the columns' names."""
    columns = [
        "Concurrency" if kind == "concurrency" else "Request Rate",
        "Inferences/Second",
        "Client Send",
        "Network+Server Send/Recv",
        "Server Queue",
        "Server Compute Input",
        "Server Compute Infer",
        "Server Compute Output",
        "Client Recv",
        *(f"p{percent} latency" for percent in percents(percentile)),
    ]
    if verbose:
        columns += ["Avg latency"] if percentile is None else []
        columns += ["request/response", "response wait"]
    return columns


def csv_row(found: Measurement, percentile: int | None = None, verbose: bool = False) -> list[str]:
    """Return one measurement's values; times in whole microseconds.

    Nothing is sent inside a process, so ``Client Send`` and ``Client Recv`` are 0, and what is left of the latency
    after the server's parts (at a rate: the wait for a caller) is ``Network+Server Send/Recv``.
    """
    mean = found.latencies.mean
    server = found.server
    rest = max(0.0, mean - server.accounted_ns)
    parts = [0.0, rest, *map(server.mean, _SERVER_PARTS), 0.0, *found.latencies.percentiles.values()]
    if verbose:
        parts += [mean] if percentile is None else []
        parts += [0.0, mean]
    return [f"{found.level:g}", f"{found.throughput:.6g}", *(str(int(value // 1000)) for value in parts)]


def write_csv(
    path: str | os.PathLike[str],
    measurements: Sequence[Measurement],
    kind: str,
    percentile: int | None = None,
    verbose: bool = False,
) -> None:
    """Write the file, rows by ascending throughput.

    Raises
    ------
    InvalidOptionError
        It cannot be written.
    """
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(csv_header(kind, percentile, verbose))
            for found in sorted(measurements, key=lambda one: one.throughput):
                writer.writerow(csv_row(found, percentile, verbose))
    except OSError as error:
        raise InvalidOptionError(
            f"{os.fspath(path)} cannot be written: {error.strerror}", option="f", got=os.fspath(path)
        ) from error
