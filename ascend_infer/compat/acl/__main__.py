"""``python -m ascend_infer.compat.acl [--device sim] program.py ...``: run a program that says ``import acl``."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path
from typing import NoReturn

from ascend_infer.compat.acl import install
from ascend_infer.errors import AscendInferError

#: The exit code that ``ascend-infer`` has for errors; a program's own traceback ends with 1.
_USAGE = 2


def main() -> None:
    """Install pyACL's names and run the program as ``__main__``, with the rest of the line as its arguments."""
    parser = argparse.ArgumentParser(prog="python -m ascend_infer.compat.acl", description=__doc__)
    parser.add_argument(
        "--device", choices=("npu", "sim"), help="whose library; ASCEND_INFER_DEVICE where left out"
    )
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    problem = _problem(given.program)
    if problem:
        _refuse(f"{given.program}: {problem}; expected a Python file")
    try:
        install(given.device)
    except AscendInferError as error:
        _refuse(str(error))
    sys.argv = [given.program, *given.arguments]
    sys.path.insert(0, str(Path(given.program).resolve().parent))
    runpy.run_path(given.program, run_name="__main__")


def _problem(program: str) -> str:
    """Return why nothing can be run there; empty where it can, or its own first line will say."""
    try:
        os.stat(program)
        # runpy takes folders with one, too.
        if os.path.isdir(program) and not os.path.isfile(os.path.join(program, "__main__.py")):
            return "it is a folder without a __main__.py"
        return "" if os.access(program, os.R_OK) else "it must not be read by this user"
    except OSError as error:
        return error.strerror or str(error)


def _refuse(text: str) -> NoReturn:
    print(f"error: {text}", file=sys.stderr)
    sys.exit(_USAGE)


if __name__ == "__main__":
    main()
