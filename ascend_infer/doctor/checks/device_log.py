"""What did CANN's own log say last?"""

from __future__ import annotations

import os

from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_device_log"]

_TAIL_BYTES = 65536
_SHOWN_LINES = 5


def check_device_log(examination: Examination) -> Finding:
    """Show the last errors of the newest process log (plog)."""
    environment = examination.environment
    base = (
        environment.variables.get("ASCEND_PROCESS_LOG_PATH") or f"{environment.home.rstrip('/')}/ascend/log"
    )
    newest = _newest_log(environment, base)
    if newest is None:
        return Finding("device_log", Verdict.NOT_APPLICABLE, f"no log of CANN in {base}")
    path, lines = newest, _tail(environment, newest)
    errors = [line for line in lines if "[ERROR]" in line]
    evidence = (Evidence("log", path), *(Evidence("error", line) for line in errors[-_SHOWN_LINES:]))
    if not errors:
        return Finding("device_log", Verdict.OK, f"no errors at the end of {path}", evidence)
    # An old error says nothing about now: the verdict hangs on whether starting ACL failed just now.
    runtime = examination.runtime_answer
    fails_now = runtime is not None and not examination.device_count
    return Finding(
        "device_log",
        Verdict.WARNING if fails_now else Verdict.OK,
        f"the newest log ends with errors: {path}",
        evidence,
        (f"grep '\\[ERROR\\]' {path} | tail",) if fails_now else (),
    )


def _newest_log(environment: Environment, base: str) -> str | None:
    found: list[tuple[float, str]] = []
    for folder in (f"{base}/debug/plog", f"{base}/run/plog"):
        for name in environment.list_dir(folder):
            if name.startswith("plog-") and name.endswith(".log"):
                path = f"{folder}/{name}"
                try:
                    found.append((os.stat(environment.locate(path)).st_mtime, path))
                except OSError:
                    continue
    return max(found)[1] if found else None


def _tail(environment: Environment, path: str) -> list[str]:
    if not environment.is_file(path):
        return []
    try:
        with open(environment.locate(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
