"""The command line: ``ascend-infer``, which is ``python -m ascend_infer``.

Each command is a module of this package with ``NAME``, ``HELP``, ``add_arguments(parser)`` and ``run(args)``,
imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the process's exit code; never raises for what a user does.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after ``ascend-infer``; ``sys.argv`` where left out.

    Returns
    -------
    int
        0: done. 1: done, and something was found to be wrong (``check``, ``doctor``). 2: wrong arguments, or
        an error of ours. 3: a bug. 130: Ctrl-C. 141: whoever read the output stopped reading.
    """
    from ascend_infer.cli.program import run_program

    return run_program(argv)
