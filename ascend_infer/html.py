"""What a notebook shows of a session and of a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_infer.memory import readable_size

if TYPE_CHECKING:
    from ascend_infer.memory import OwnerUsage, PoolStats
    from ascend_infer.result import InferResult
    from ascend_infer.session import Session
    from ascend_infer.types import TensorSpec

__all__ = ["pool_html", "result_html", "session_html", "table"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Numbers of an output shown one by one.
_SHOWN = 6


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lay out an HTML table; every cell is escaped."""
    cells = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def session_html(session: Session) -> str:
    """Show a session: what it is, where it runs, what it takes and gives."""
    if session._core is None:
        return f"<p>{escape(repr(session))}</p>"
    version = "" if session.version is None else f", version {session.version}"
    batch = session.config.max_batch_size
    rows = [*_tensors("in", session.inputs), *_tensors("out", session.outputs)]
    facts = ", ".join(f"{key} {value}" for key, value in session.details.items())
    limit = f"batches up to {batch}" if batch else "no batch dimension of its own"
    return (
        f"<p><b>{escape(session.name)}</b>{escape(version)} on <b>{escape(session.device)}</b>; {limit}<br>"
        f"<small>{escape(facts)}<br>{escape(session.path)}</small></p>"
        + table(("", "name", "type", "shape"), rows)
    )


def result_html(result: InferResult) -> str:
    """Show a result: each output's type, shape, range and first values, and where the time went."""
    rows = [
        (
            name,
            array.dtype if array.dtype != object else "BYTES",
            list(array.shape),
            _range(array),
            _first(array),
        )
        for name, array in result.items()
    ]
    timing = result.timing
    version = "" if result.version is None else f", version {result.version}"
    steps = ", ".join(
        f"{label} {value / 1e6:.3g} ms"
        for label, value in zip(("input", "queue", "model", "output"), timing[:4], strict=True)
    )
    return (
        f"<p><b>{escape(result.model)}</b>{escape(version)} on <b>{escape(result.device)}</b>, "
        f"{timing.total_ns / 1e6:.3g} ms<br><small>{steps}</small></p>"
        + table(("output", "type", "shape", "range", "first values"), rows)
    )


def pool_html(title: str, stats: tuple[PoolStats, PoolStats], owners: Sequence[OwnerUsage]) -> str:
    """Show a device's pool of memory, its pool of pinned memory, and who holds what of the first."""
    pools = [
        (
            name,
            readable_size(pool.active_bytes),
            readable_size(pool.peak_active_bytes),
            readable_size(pool.reserved_bytes),
            "" if pool.limit_bytes is None else readable_size(pool.limit_bytes),
            f"{pool.fragmentation:.0%}",
        )
        for name, pool in zip(("device", "pinned host"), stats, strict=True)
    ]
    held = [
        (
            owner.name,
            readable_size(owner.active_bytes),
            readable_size(owner.peak_active_bytes),
            owner.active_blocks,
        )
        for owner in owners
    ]
    return (
        f"<p><b>{escape(title.strip('<>'))}</b></p>"
        + table(("memory", "in use", "at most", "taken", "limit", "fragmented"), pools)
        + table(("owner", "in use", "at most", "blocks"), held)
    )


def _tensors(direction: str, specs: Iterable[TensorSpec]) -> list[tuple[object, ...]]:
    return [
        (
            direction,
            spec.name + (" (optional)" if spec.optional else ""),
            spec.dtype,
            "any rank"
            if spec.shape == (-2,)
            else "×".join("?" if d == -1 else str(d) for d in spec.shape) or "scalar",
        )
        for spec in specs
    ]


def _range(array: Array) -> str:
    if array.dtype == object or not array.size:
        return ""
    values = array.astype(np.float32) if array.dtype.kind == "V" else array
    return f"{values.min():.4g} to {values.max():.4g}" if values.dtype.kind != "b" else ""


def _first(array: Array) -> str:
    items = array.reshape(-1)[:_SHOWN].tolist()
    shown = ", ".join(f"{item:.4g}" if isinstance(item, float) else str(item)[:40] for item in items)
    return shown + (", …" if array.size > _SHOWN else "")
