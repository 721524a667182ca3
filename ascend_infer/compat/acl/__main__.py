"""``python -m ascend_infer.compat.acl [--device sim] program.py ...``: run a program that says ``import acl``."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from ascend_infer.compat.acl import install
from ascend_infer.errors import AscendInferError


def main() -> None:
    """Install pyACL's names and run the program as ``__main__``, with the rest of the line as its arguments."""
    parser = argparse.ArgumentParser(prog="python -m ascend_infer.compat.acl", description=__doc__)
    parser.add_argument(
        "--device", choices=("npu", "sim"), help="whose library; ASCEND_INFER_DEVICE where left out"
    )
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    try:
        install(given.device)
    except AscendInferError as error:
        sys.exit(f"error: {error}")
    sys.argv = [given.program, *given.arguments]
    sys.path.insert(0, str(Path(given.program).resolve().parent))
    runpy.run_path(given.program, run_name="__main__")


if __name__ == "__main__":
    main()
