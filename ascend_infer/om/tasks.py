"""TASK_INFO and the kernel stores: what the device is going to run, counted but not looked into."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ascend_infer.om.codes import TASK_TYPES
from ascend_infer.wire import BYTES, VARINT, fields, signed

__all__ = ["TaskInfo", "parse_tasks"]


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A ``domi.ModelTaskDef``: bytes of work memory, None when it does not say, and tasks by type."""

    work_size: int | None = None
    counts: dict[str, int] = field(default_factory=dict)


def parse_tasks(data: bytes) -> TaskInfo:
    """Count a TASK_INFO's tasks.

    Raises
    ------
    WireError
        When the bytes are no protobuf message.
    """
    work_size = None
    counts: Counter[int] = Counter()
    for entry in fields(data):
        if entry.number == 10 and entry.wire_type == BYTES:
            kind = 0  # KERNEL, the default, is not written
            for inner in fields(data, entry.start, entry.end):
                if inner.number == 2 and inner.wire_type == VARINT:
                    kind = inner.value
                if inner.number >= 2:
                    break
            counts[kind] += 1
        elif entry.number == 11 and entry.wire_type == VARINT:
            work_size = max(signed(entry.value), 0)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return TaskInfo(work_size, {TASK_TYPES.get(kind, f"type {kind}"): count for kind, count in ordered})
