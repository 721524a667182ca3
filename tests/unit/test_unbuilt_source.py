"""Importing the source where its compiled part was not built: a checkout that hides the installed package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import ascend_infer


def test_the_source_tree_says_what_it_is(tmp_path: Path) -> None:
    source = Path(ascend_infer.__file__).parent
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(source, tmp_path / "ascend_infer", ignore=ignored)
    ran = subprocess.run(
        [sys.executable, "-IS", "-c", SCRIPT, str(tmp_path), str(Path(np.__file__).parents[1])],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "its compiled part is not there: run Python in another folder" in ran.stdout
    assert "pip install -e ." in ran.stdout


#: Without what an editable install hooks in to be found first.
SCRIPT = """
import sys
sys.path[:0] = sys.argv[1:]
import ascend_infer
try:
    ascend_infer.Session("net.onnx")
except ImportError as error:
    print(error)
"""
