"""What a run did, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["SHOWN_ERRORS", "DeviceShare", "Summary"]

#: Failed rows whose reasons a summary has.
SHOWN_ERRORS = 5


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """How busy a device was; a session on several has one of these for each.

    Attributes
    ----------
    device : str
    busy_seconds : float
        With at least one batch under way.
    share : float
        Of the run's time, 0 to 1.
    lanes : int
        Batches that may be under way at once.
    """

    device: str
    busy_seconds: float
    share: float
    lanes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What ``score`` returns.

    Attributes
    ----------
    output : str
        The file or folder; empty for a callback.
    rows, failed : int
        Rows of the output, and those of them with an error, earlier runs included.
    resumed_rows : int
        Rows that an earlier run had scored.
    first_errors : sequence of (id, reason)
        The first of them, earlier runs included.
    seconds : float
        By the clock, from the call to its end.
    rows_per_second : float
        Of the rows that this run scored, by the clock while it scored.
    device_rows_per_second : float
        The same rows over the time in which a device was busy, all devices together.
    devices : tuple of DeviceShare
    stage_seconds : mapping of str to float
        ``read``, ``prepare``, ``queue``, ``infer``, ``rank``: over all threads; ``write``, ``assemble``: of the one.
    batch, part_rows, workers, instances, threads : int
        ``threads`` of one execution on the CPU; 0 on a device.
    batch_reason : str
    runs : int
        Executions of the model.
    padding_waste : float
        Share of the rows that the device ran which were padding, 0 to 1.
    notes : tuple of str
        What kept the run from being faster, and what to do.
    """

    output: str
    rows: int
    failed: int
    resumed_rows: int
    seconds: float
    rows_per_second: float
    device_rows_per_second: float
    devices: tuple[DeviceShare, ...]
    stage_seconds: Mapping[str, float]
    batch: int
    batch_reason: str
    part_rows: int
    workers: int
    instances: int
    threads: int
    runs: int
    padding_waste: float
    first_errors: Sequence[tuple[str, str]] = ()
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        fresh = self.rows - self.resumed_rows
        counted = f"{self.rows} {'row' if self.rows == 1 else 'rows'}"
        place = f" in {self.output}" if self.output else ""
        earlier = f", {self.resumed_rows} of them from an earlier run" if self.resumed_rows else ""
        lines = [f"{counted}{place}, {self.failed} failed{earlier}"]
        if fresh:
            busy = ", ".join(f"{item.device} busy {item.share:.0%}" for item in self.devices)
            lines.append(f"{self.rows_per_second:.4g} rows/s, {self.seconds:.1f} s; {busy}")
            lines.append(
                f"batch {self.batch} ({self.batch_reason}), {self.workers} workers, {self.instances} instances"
                + (f" of {self.threads} threads" if self.threads else "")
                + (f", padding {self.padding_waste:.1%}" if self.padding_waste else "")
            )
        lines += [f"  {name}: {reason}" for name, reason in self.first_errors]
        lines += list(self.notes)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(key)}</th><td>{escape(str(value))}</td></tr>"
            for key, value in (
                ("rows", self.rows),
                ("failed", self.failed),
                ("from an earlier run", self.resumed_rows),
                ("rows/s", f"{self.rows_per_second:.4g}"),
                ("devices", ", ".join(f"{item.device} busy {item.share:.0%}" for item in self.devices)),
                ("batch", f"{self.batch} ({self.batch_reason})"),
                ("padding", f"{self.padding_waste:.1%}"),
                ("output", self.output),
            )
        )
        return f"<table>{rows}</table>"
