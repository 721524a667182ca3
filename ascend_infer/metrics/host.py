"""The host's CPUs and memory, as Linux tells them; nothing elsewhere."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HostReader", "HostReading"]


@dataclass(frozen=True, slots=True)
class HostReading:
    """The host at one moment; None is what could not be read."""

    cpu_utilization: float | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None


class HostReader:
    """Reads ``/proc``; the CPUs' utilisation is that between two readings.

    Thread safety: may be called from any thread.
    """

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._lock = threading.Lock()
        self._last = self._cpu_times()
        # Until there are two readings: since the machine was started.
        self._utilization = _share(self._last) if self._last is not None else None

    def read(self) -> HostReading:
        """Read everything now."""
        with self._lock:
            now, last = self._cpu_times(), self._last
            if now is not None:
                before = last or (0, 0)
                passed = _share((max(now[0] - before[0], 0), max(now[1] - before[1], 0)))
                # Two readings within one tick of the clock: the value before is the best there is.
                if passed is not None:
                    self._utilization, self._last = passed, now
            utilization = self._utilization
        total, available = self._memory()
        used = None if total is None or available is None else max(total - available, 0)
        return HostReading(utilization, total, used)

    def _cpu_times(self) -> tuple[int, int] | None:
        """Return the ticks of all CPUs together, busy and idle."""
        try:
            line = (self._proc / "stat").read_text(encoding="ascii", errors="replace").partition("\n")[0]
            name, user, nice, system, idle, iowait, irq, softirq, steal = line.split()[:9]
            busy = sum(map(int, (user, nice, system, irq, softirq, steal)))
            return (busy, int(idle) + int(iowait)) if name == "cpu" else None
        except (OSError, ValueError):
            return None

    def _memory(self) -> tuple[int | None, int | None]:
        """Return total and available bytes."""
        found: dict[str, int] = {}
        try:
            for line in (self._proc / "meminfo").read_text(encoding="ascii", errors="replace").splitlines():
                name, _, rest = line.partition(":")
                if name in {"MemTotal", "MemAvailable"}:
                    found[name] = int(rest.split()[0]) * 1024
        except (OSError, ValueError, IndexError):
            return None, None
        return found.get("MemTotal"), found.get("MemAvailable")


def _share(ticks: tuple[int, int]) -> float | None:
    busy, idle = ticks
    return busy / (busy + idle) if busy + idle > 0 else None
