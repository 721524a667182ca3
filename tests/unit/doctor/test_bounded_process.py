from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ascend_infer.doctor.bounded_process import Deadline, ProcessOutcome, run_bounded


def run(
    code: str, *, deadline: Deadline | None = None, first: float = 60, idle: float = 60
) -> ProcessOutcome:
    return run_bounded(
        [sys.executable, "-S", "-c", code],
        {},
        deadline or Deadline(120),
        first_output_limit=first,
        idle_limit=idle,
    )


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()


def test_output_and_exit_code_are_kept() -> None:
    outcome = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (outcome.exit_code, outcome.signal, outcome.timed_out) == (3, None, False)
    assert (outcome.stdout, outcome.stderr) == ("out\n", "err\n")


def test_a_signal_is_named() -> None:
    outcome = run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (outcome.exit_code, outcome.signal, outcome.timed_out) == (None, "SIGSEGV", False)


def test_silence_is_killed_and_what_came_before_is_kept() -> None:
    outcome = run("import signal; print('begun', flush=True); signal.pause()", idle=0.2)
    assert outcome.timed_out
    assert outcome.signal == "SIGKILL"
    assert outcome.stdout == "begun\n"


def test_a_child_that_never_speaks_is_killed() -> None:
    assert run("import signal; signal.pause()", first=0.2).timed_out


def test_talking_on_standard_error_is_no_sign_of_life() -> None:
    deadline = Deadline(30)
    outcome = run("import sys\nwhile True: sys.stderr.write('x' * 1000)", first=1.5, deadline=deadline)
    assert outcome.timed_out
    assert deadline.remaining > 0  # its own limit ended it
    assert 0 < len(outcome.stderr) <= 2 * 65536 + 16


def test_a_flood_is_bounded_and_keeps_both_ends() -> None:
    outcome = run("print('first'); print('x' * 3000000); print('last')")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("first\n")
    assert outcome.stdout.endswith("last\n")
    assert len(outcome.stdout) <= 2 * 65536 + 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_grandchild_that_holds_the_pipes_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    outcome = run(
        "import os, signal\n"
        "pid = os.fork()\n"
        "if pid == 0: signal.pause()\n"
        f"open({str(file)!r}, 'w').write(str(pid))\n"
        "print('done', flush=True); os._exit(0)"
    )
    assert (outcome.exit_code, outcome.stdout) == (0, "done\n")
    assert is_gone(int(file.read_text()))


@pytest.mark.skipif(not Path("/proc/self/environ").is_file(), reason="there is no /proc")
@pytest.mark.parametrize("end", ["os._exit(0)", "os.abort()", "signal.pause()"])
def test_an_orphan_in_a_session_of_its_own_is_killed_too(tmp_path: Path, end: str) -> None:
    file = tmp_path / "pid"
    outcome = run(
        "import os, signal\n"
        "reading, writing = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        open({str(file)!r}, 'w').write(str(os.getpid()))\n"
        "        os.write(writing, b'.')\n"
        "        signal.pause()\n"
        "    os._exit(0)\n"
        "os.read(reading, 1)\n"
        f"print('done', flush=True); {end}",
        idle=0.2 if "pause" in end else 60,
    )
    assert outcome.stdout == "done\n"
    assert is_gone(int(file.read_text()))


def is_gone(pid: int) -> bool:
    """Whether a killed process has ended; where nobody reaps orphans it stays as a zombie."""
    for _ in range(10_000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        os.sched_yield()
    return False


def test_a_program_that_is_not_there_is_an_outcome(tmp_path: Path) -> None:
    outcome = run_bounded([str(tmp_path / "none")], {}, Deadline(60), first_output_limit=1, idle_limit=1)
    assert "No such file" in (outcome.start_error or "")
    broken = run_bounded(["a\0b"], {}, Deadline(60), first_output_limit=1, idle_limit=1)
    assert broken.start_error


def test_nothing_is_started_after_the_deadline() -> None:
    now = [0.0]
    deadline = Deadline(9, lambda: now[0])
    assert deadline.remaining == 9
    now[0] = 9.5
    assert deadline.remaining == 0
    outcome = run("print(1)", deadline=deadline)
    assert outcome.start_error
    assert not outcome.stdout


def test_the_deadline_cuts_a_childs_own_limits() -> None:
    assert run("import signal; signal.pause()", deadline=Deadline(0.3)).timed_out


def test_no_descriptor_is_left() -> None:
    run("print(1)")
    before = descriptors()
    for code in ("print(1)", "import os; os.abort()"):
        run(code)
    run("import signal; signal.pause()", first=0.1)
    run_bounded(["/none"], {}, Deadline(60), first_output_limit=1, idle_limit=1)
    assert descriptors() == before
