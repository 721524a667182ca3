"""How many rows a batch has, how many threads work: as asked, else by the gears and by measuring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascend_infer.cpu_budget import cpu_budget
from ascend_infer.errors import AscendInferError, InvalidInputError, InvalidOptionError
from ascend_infer.scoring.lanes import lanes_of
from ascend_infer.scoring.model import RowShape, ScoredSession
from ascend_infer.scoring.trial import runs_a_second
from ascend_infer.types import DataType

__all__ = ["Arrangement", "choose_batch", "choose_workers", "chunk_rows", "whole_batches"]

#: A larger batch has to bring at least this much: it makes the work coarser, and a measurement is never exact. On the
#: CPU it also keeps a core from preparing the next row meanwhile.
_WORTH_ON_CPU, _WORTH_ON_DEVICE = 1.10, 1.03
_CPU_SIZES = (1, 2, 4, 8, 16, 32)
#: Rows that a core of the CPU prepares, runs and ranks at a time, where batches are smaller.
_CHUNK_ROWS = 4
_MOST_TRIAL_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How a run is laid out.

    Attributes
    ----------
    batch : int
        Rows of a run of the model.
    part_rows : int
        Rows that are written at a time; a multiple of ``batch``.
    why : str
        How the batch was chosen.
    """

    batch: int
    part_rows: int
    why: str


def whole_batches(rows: int, batch: int) -> int:
    """Return the next number of rows that is whole batches."""
    return -(-rows // batch) * batch


def choose_workers(sessions: Sequence[ScoredSession], asked: int | str) -> int:
    """Return how many threads read, prepare, run and rank.

    On the CPU one for each core, or instance where there are more: a thread that prepares a row and runs it too keeps
    a core busy, and one more would only take it from another. On a device the batches that are under way wait for it
    without a core, so the threads that prepare come on top.

    Raises
    ------
    InvalidOptionError
    """
    if isinstance(asked, int) and not isinstance(asked, bool) and 1 <= asked <= 1024:
        return asked
    if asked != "auto":
        raise InvalidOptionError(
            f"workers: got {asked!r}, expected 'auto' or a whole number from 1 to 1024",
            option="workers",
            got=asked,
        )
    lanes = sum(map(lanes_of, sessions))
    on_cpu = all(session.device == "cpu" for session in sessions)
    return max(lanes, cpu_budget()) if on_cpu else lanes + cpu_budget()


def chunk_rows(sessions: Sequence[ScoredSession], batch: int, workers: int, total: int | None) -> int:
    """Return how many rows a thread takes at a time: whole batches.

    On the CPU more than one where they are small: a core that prepares some photos, then runs the model on them, then
    ranks, loads the code of each stage once and not for each photo. Never so many that threads are idle at the end;
    one batch where nobody knows how many rows there are, or how long the next one takes to come.
    """
    if total is None or any(session.device != "cpu" for session in sessions):
        return batch
    return batch * max(1, min(_CHUNK_ROWS // batch, total // (16 * workers * batch)))


def choose_batch(
    sessions: Sequence[ScoredSession], shape: RowShape, asked: int | str, total: int | None
) -> tuple[int, str]:
    """Return how many rows a run has, and why.

    Parameters
    ----------
    total : int or None
        Rows of the source; few of them are not worth a measurement.

    Raises
    ------
    InvalidOptionError
    """
    if isinstance(asked, int) and not isinstance(asked, bool) and asked >= 1:
        if shape.limit is not None and asked > shape.limit:
            raise InvalidOptionError(
                f"batch={asked}: the model takes at most {shape.limit} rows at a time",
                option="batch",
                got=asked,
            )
        return asked, "as asked"
    if asked != "auto":
        raise InvalidOptionError(
            f"batch: got {asked!r}, expected 'auto' or a whole number from 1", option="batch", got=asked
        )
    session = sessions[0]
    if shape.limit == 1:
        return 1, "the model takes one row at a time"
    if shape.limit is None:
        return 1, "the configuration states no max_batch_size"
    cut = [tensor.shape[1:] for tensor in session.inputs]
    if any(-1 in dims for dims in cut) or any(tensor.dtype is DataType.BYTES for tensor in session.inputs):
        return 1, "the inputs vary in size"
    gears = _gears(session, shape.limit)
    sizes = gears or [size for size in _CPU_SIZES if size <= shape.limit]
    if len(sizes) == 1:
        return sizes[0], "the only compiled size" if gears else "the only size"
    if total is not None and total < 8 * max(sizes):
        return sizes[0], f"{total} rows are too few to measure"
    rates = _rates(session, sizes)
    if not rates:
        return sizes[0], "a trial on zeros failed"
    best = min(rates)
    for size, rate in rates.items():
        if rate > rates[best] * (_WORTH_ON_DEVICE if gears else _WORTH_ON_CPU):
            best = size
    shown = ", ".join(f"{size}: {rate:.4g}" for size, rate in rates.items())
    return best, f"measured, rows/s by batch {shown}"


def _gears(session: ScoredSession, limit: int) -> list[int]:
    """Return the compiled batch sizes; empty on the CPU, which has none."""
    try:
        told = session.explain(**{tensor.name: (1, *tensor.shape[1:]) for tensor in session.inputs})
    except InvalidInputError:
        return []
    rows = {told.sizes.rows_of(size) or 0 for size in told.sizes.sizes}
    return sorted(size for size in rows if 0 < size <= limit)


def _rates(session: ScoredSession, sizes: Sequence[int]) -> dict[int, float]:
    """Return rows a second by batch size, with as many callers as there are places at the device."""
    rates: dict[int, float] = {}
    for size in sizes:
        feed = {
            tensor.name: np.zeros((size, *tensor.shape[1:]), tensor.dtype.numpy) for tensor in session.inputs
        }
        if sum(item.nbytes for item in feed.values()) > _MOST_TRIAL_BYTES:
            break
        try:
            session.infer(feed)
            rates[size] = size * runs_a_second(session, feed)
        except AscendInferError:
            break
        if rates[size] < 0.7 * max(rates.values()):
            break  # it only gets worse from here
    return rates
