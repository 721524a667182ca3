"""A result as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascend_infer.cli.printing import columns, printable, shorten
from ascend_infer.cli.results.texts import decoded
from ascend_infer.image import Label
from ascend_infer.result import InferResult
from ascend_infer.types import DataType

__all__ = ["Rankings", "TimedRuns", "result_json", "result_lines", "times_json", "times_line"]

Array = np.ndarray[Any, np.dtype[Any]]
#: Rows of ranked labels by output.
Rankings = Mapping[str, Sequence[Sequence[Label]]]
#: Milliseconds of each run.
TimedRuns = Sequence[float]

_SHOWN_VALUES, _SHOWN_ROWS, _LONG_TEXT = 8, 16, 60


def result_lines(result: InferResult, rankings: Rankings) -> list[str]:
    """Return the lines that ``infer`` prints."""
    version = "" if result.version is None else f" version {result.version}"
    model_time = result.timing.compute_infer_ns / 1e6
    head = f"{result.model}{version} on {result.device}: {model_time:.3g} ms in the model"
    rows = [(name, _dtype(array), _shape(array), _values(array)) for name, array in result.items()]
    lines = [printable(head), *columns(rows)]
    for name, ranked in rankings.items():
        for index, labels in enumerate(ranked[:_SHOWN_ROWS]):
            row = f", row {index}" if len(ranked) > 1 else ""
            lines.append(f"top {len(labels)} of {printable(name)}{row}:")
            table = [(f"{label.score:.4g}", label.index, label.label or "") for label in labels]
            lines += columns(table)
        if len(ranked) > _SHOWN_ROWS:
            lines.append(f"and {len(ranked) - _SHOWN_ROWS} more rows")
    return lines


def result_json(result: InferResult, rankings: Rankings) -> dict[str, Any]:
    """Return plain JSON types with every value."""
    timing = result.timing
    return {
        "model": result.model,
        "version": result.version,
        "device": result.device,
        "outputs": {
            name: {"dtype": _dtype(array), "shape": list(array.shape), "data": _data(array)}
            for name, array in result.items()
        },
        "top_k": {
            name: [
                [{"index": label.index, "score": label.score, "label": label.label} for label in row]
                for row in ranked
            ]
            for name, ranked in rankings.items()
        },
        "timing_ms": {
            "input": timing.compute_input_ns / 1e6,
            "queue": timing.queue_ns / 1e6,
            "model": timing.compute_infer_ns / 1e6,
            "output": timing.compute_output_ns / 1e6,
        },
    }


def times_line(runs: TimedRuns) -> str:
    """Say how long the model took over several runs."""
    times = times_json(runs)
    return (
        f"model time over {len(runs)} runs, after one to warm up: min {times['min_ms']:.3g} ms, "
        f"median {times['median_ms']:.3g} ms, p99 {times['p99_ms']:.3g} ms"
    )


def times_json(runs: TimedRuns) -> dict[str, Any]:
    """Return count, least, median and 99th percentile (the nearest run at or above it), in milliseconds."""
    ordered = sorted(runs)
    return {
        "runs": len(ordered),
        "min_ms": ordered[0],
        "median_ms": float(np.median(ordered)),
        "p99_ms": ordered[math.ceil(0.99 * len(ordered)) - 1],
    }


def _dtype(array: Array) -> str:
    return str(DataType.from_numpy(array.dtype))


def _shape(array: Array) -> str:
    return "x".join(map(str, array.shape)) or "one value"


def _values(array: Array) -> str:
    items = _plain(array.reshape(-1)[:_SHOWN_VALUES]).tolist()
    shown = ", ".join(
        f"{item:.4g}" if isinstance(item, float) else shorten(item, _LONG_TEXT) for item in items
    )
    return shown + (", ..." if array.size > _SHOWN_VALUES else "")


def _plain(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype.kind == "V" else decoded(array)


def _data(array: Array) -> Any:
    values = _plain(array).tolist()
    return _parts(values) if array.dtype.kind == "c" else values


def _parts(values: Any) -> Any:
    """Write complex numbers as pairs."""
    return [_parts(value) for value in values] if isinstance(values, list) else [values.real, values.imag]
