"""A twin with weights of half the bits: tried out by rounding the other one's weights and running that."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ascend_infer.comparison.case import Case
from ascend_infer.comparison.finding import Finding
from ascend_infer.comparison.tolerance import numbers
from ascend_infer.errors import AscendInferError
from ascend_infer.onnx_file.weight_precision import HalfPrecision, rounded_weights, weight_types
from ascend_infer.trial_inputs.of_session import onnx_file_of
from ascend_infer.types import DataType

__all__ = ["find_half_precision"]

Array = np.ndarray[Any, np.dtype[Any]]

_HALVES: dict[HalfPrecision, DataType] = {"float16": DataType.FP16, "bfloat16": DataType.BF16}
#: Differences above this part of an output's largest value are not what rounding does.
_TOO_FAR = 0.1
#: What rounding alone has to reproduce of a difference; the rest is what the arithmetic itself rounds.
_MOST_OF_IT = 0.7


def find_half_precision(case: Case) -> Finding | None:
    """Find that one of the two has the other's weights in float16 or bfloat16.

    On the CPU the full model is run with and without rounded weights; the finding is verified where the difference
    between these two is the difference between A and B.
    """
    if not 0 < case.distance <= _TOO_FAR:
        return None
    files = onnx_file_of(case.a), onnx_file_of(case.b)
    size = f"differences of at most {case.distance:.2g} of the output's largest value"
    best: tuple[float, str, str, HalfPrecision] | None = None
    for full, letter, other in ((files[0], "A", "B"), (files[1], "B", "A")):
        if full is None:
            continue
        sign = 1 if letter == "A" else -1
        for precision in _HALVES:
            explained = _explained(case, full, letter, precision, sign)
            if explained is not None and (best is None or explained > best[0]):
                best = explained, letter, other, precision
    if best is not None and best[0] >= _MOST_OF_IT:
        explained, letter, other, precision = best
        return Finding(
            "half_precision",
            f"looks like {precision} weights: {other} equals {letter} with its weights rounded to {precision}; "
            f"{letter} was run so on the CPU, and {100 * explained:.3g} % of the difference between A and B is that "
            f"({size})",
            verified=True,
        )
    return _by_the_files(files, size, None if best is None else best[0])


def _by_the_files(
    files: tuple[Path | None, Path | None], size: str, explained: float | None
) -> Finding | None:
    """Say what the files hold, where rounding the weights alone does not reproduce the difference."""
    if files[0] is None or files[1] is None:
        return None
    counts = weight_types(files[0]), weight_types(files[1])
    for precision, dtype in _HALVES.items():
        held = [count[dtype] for count in counts]
        if bool(held[0]) == bool(held[1]):
            continue
        letter, other = ("B", "A") if held[1] else ("A", "B")
        tried = (
            "" if explained is None
            else f"; rounding {other}'s weights alone reproduces {100 * max(0.0, explained):.2g} % of it, so {letter} "
            "computes otherwise too"
        )  # fmt: skip
        return Finding(
            "half_precision",
            f"looks like a {precision} twin: {letter}'s file holds {max(held)} weights of {dtype} and {other}'s none, "
            f"with {size}{tried}",
        )
    return None


def _explained(case: Case, file: Path, letter: str, precision: HalfPrecision, sign: int) -> float | None:
    """Return which part of the difference between A and B rounded weights make, 1 for all; None where not known."""
    session = case.a if letter == "A" else case.b
    rounded = rounded_weights(file, precision)
    if rounded is None:
        return None
    feed = case.feed if letter == "A" else case.pairing.feed_for_b(case.feed)
    try:
        names = session._opened().signature
        plain = {names.rules[name].model_name: array for name, array in feed.items()}
        before = _run(file, plain)
        with tempfile.TemporaryDirectory(prefix="ascend-infer-compare-") as folder:
            copy = Path(folder) / "rounded.onnx"
            copy.write_bytes(rounded)
            after = _run(copy, plain)
    except (AscendInferError, OSError):
        return None  # not runnable on the CPU by itself, or no room for a copy
    seen, foretold = 0.0, 0.0
    for name, other in case.pairing.outputs.items():
        model_name = names.output_rules[name if letter == "A" else other].model_name
        if case.answers_a[name].dtype == object or after[model_name].size != case.answers_a[name].size:
            continue
        a, b = numbers(case.answers_a[name]), numbers(case.answers_b[name])
        with np.errstate(invalid="ignore", over="ignore"):
            difference = sign * (numbers(after[model_name]) - numbers(before[model_name])).reshape(a.shape)
            observed = b - a
        usable = np.isfinite(observed) & np.isfinite(difference)
        seen += float(np.sum(np.abs(observed[usable]) ** 2))
        foretold += float(np.sum(np.abs(observed[usable] - difference[usable]) ** 2))
    return None if seen == 0 else 1 - float(np.sqrt(foretold / seen))


def _run(file: Path, feed: Mapping[str, Array]) -> dict[str, Array]:
    from ascend_infer.session import Session

    with Session(file, device="cpu") as session:
        return dict(session.infer(feed))
