"""TASK_INFO and the kernel stores: what the device is going to run, counted but not looked into."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ascend_infer.om.codes import TASK_TYPES
from ascend_infer.wire import BYTES, VARINT, fields, signed

__all__ = ["MAX_TASKS", "TaskInfo", "parse_tasks"]

#: Models have some thousands.
MAX_TASKS = 262_144


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A ``domi.ModelTaskDef``.

    Attributes
    ----------
    work_size : int or None
        Bytes of work memory; None when it does not say.
    counts : dict of str to int
        Tasks by type.
    is_cut_short : bool
        There are more than are counted, and ``work_size``, which stands behind them, was not read.
    """

    work_size: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    is_cut_short: bool = False


def parse_tasks(data: bytes) -> TaskInfo:
    """Count a TASK_INFO's tasks, up to ``MAX_TASKS``.

    Raises
    ------
    WireError
        When the bytes are no protobuf message.
    """
    work_size = None
    number = 0
    counts: Counter[int] = Counter()
    for entry in fields(data):
        if entry.number == 10 and entry.wire_type == BYTES:
            number += 1
            if number > MAX_TASKS:
                break
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
    named = {TASK_TYPES.get(kind, f"type {kind}"): count for kind, count in ordered}
    return TaskInfo(work_size, named, number > MAX_TASKS)
