"""Stands where the compiled part should be: Python takes it only where that was not built."""

from pathlib import Path

raise ImportError(
    f"{Path(__file__).parent} is the source of ascend_infer, and its compiled part is not there: run Python in another "
    "folder to have the installed package, or build it here: pip install -e ."
)
