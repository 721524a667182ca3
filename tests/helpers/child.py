"""Running a piece of Python in a process of its own, since its end is the verdict."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

HELPERS = str(Path(__file__).parent)


def run_child(code: str, *arguments: object, options: tuple[str, ...] = (), limit: float = 60.0) -> str:
    """Run code with sys.argv[1:] set; returns what it printed. Fails on a bad exit or anything on stderr."""
    environment = {**os.environ, "PYTHONPATH": HELPERS, "PYTHONWARNINGS": "error"}
    # A shell that starts the tests in the background ignores SIGINT for all below it.
    code = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, *options, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=limit,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert not done.stderr, done.stderr
    return done.stdout
