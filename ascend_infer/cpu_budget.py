"""How many CPUs this process may keep busy."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["cpu_budget"]


def cpu_budget(root: Path = Path("/")) -> int:
    """Return the CPUs this process may use: its affinity, bounded by the cgroup's quota; at least 1.

    Parameters
    ----------
    root : Path
        Where ``proc`` and ``sys`` are.

    Notes
    -----
    cgroup v2 states ``cpu.max`` as "quota period" or "max period" (kernel.org, admin-guide/cgroup-v2), v1 has
    ``cpu.cfs_quota_us``, -1 for none (scheduler/sched-bwc). A limit holds for all below it, so every level
    from the process's own group up to the mount counts. A fraction of a CPU is rounded up.
    """
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = min(_quotas(root), default=math.inf)
    return max(1, min(cpus, math.ceil(quota) if quota != math.inf else cpus))


def _quotas(root: Path) -> list[float]:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found: list[float] = []
    for line in lines:
        parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        _, controllers, group = parts
        if controllers == "":
            base, read = root / "sys/fs/cgroup", _quota_v2
        elif "cpu" in controllers.split(","):
            base, read = root / "sys/fs/cgroup/cpu", _quota_v1
        else:
            continue
        # Inside a container the group's path may be the host's: the mount itself then holds the limit.
        place = base / group.lstrip("/")
        while True:
            quota = read(place)
            if quota is not None:
                found.append(quota)
            if place == base or base not in place.parents:
                break
            place = place.parent
    return found


def _quota_v2(place: Path) -> float | None:
    try:
        quota, period = (place / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _quota_v1(place: Path) -> float | None:
    try:
        quota = int((place / "cpu.cfs_quota_us").read_text())
        return None if quota <= 0 else quota / int((place / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError, ZeroDivisionError):
        return None
