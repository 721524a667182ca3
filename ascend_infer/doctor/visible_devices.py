"""ASCEND_RT_VISIBLE_DEVICES, read as CANN's runtime reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["VisibleDevices", "parse_visible_devices"]


@dataclass(frozen=True, slots=True)
class VisibleDevices:
    """Which cards the variable leaves.

    Attributes
    ----------
    used : tuple of int
        Cards before the first mistake, in order; position is the device id of this process.
    mistake : str or None
        The first entry that the runtime stops at, and why.
    """

    used: tuple[int, ...]
    mistake: str | None


def parse_visible_devices(value: str, count: int | None = None) -> VisibleDevices:
    """Read a list of card numbers.

    The runtime wants ascending numbers, no blanks and nothing twice; it cuts the list at the first entry that
    is not so, and answers 207004 when nothing is left.

    Parameters
    ----------
    value : str
    count : int or None
        Number of cards that are there, None when it is not known; then no number is too high.
    """
    used: list[int] = []
    for entry in value.split(","):
        if not re.fullmatch(r"[0-9]{1,6}", entry):
            if not entry:
                problem = "an entry is empty"
            elif entry != entry.strip() and entry.strip().isdecimal():
                problem = f"{entry!r} has blanks"
            else:
                problem = f"{entry!r} is no number"
        elif used and int(entry) == used[-1]:
            problem = f"{entry} stands there twice"
        elif used and int(entry) < used[-1]:
            problem = f"{entry} comes after {used[-1]}, the list must ascend"
        elif count is not None and int(entry) >= count:
            problem = f"{entry} is too high, the number of cards is {count}"
        else:
            used.append(int(entry))
            continue
        return VisibleDevices(tuple(used), problem)
    return VisibleDevices(tuple(used), None)
