"""The examples run as their first lines say, each in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from installed_plugin import install

EXAMPLES = Path(__file__).parents[2] / "examples"

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)


def run(place: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder; the package is the one under test."""
    site = place / "site"
    return subprocess.run(
        [sys.executable, "-W", "error", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        timeout=300,
        env={
            **os.environ,
            "PYTHONPATH": str(site if site.exists() else install(site)),
            "ASCEND_INFER_DEVICE": "cpu",
            "PYTEST_ADDOPTS": "",
            **environment,
        },
    )


def test_the_unit_tested_application(tmp_path: Path) -> None:
    app = EXAMPLES / "unit_tested_app"
    done = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "--rootdir", app, app)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = len(
        re.findall(r"^def test_", (app / "tests" / "test_photo_tagger.py").read_text(), re.MULTILINE)
    )
    assert f"{wanted} passed" in done.stdout

    made = run(tmp_path, app / "colour_model.py")
    assert made.returncode == 0, made.stderr
    from PIL import Image

    Image.new("RGB", (9, 9), (250, 0, 0)).save(tmp_path / "photo.png")
    done = run(tmp_path, app / "photo_tagger.py", made.stdout.strip(), "photo.png")
    assert (done.stdout, done.stderr, done.returncode) == ("photo.png: red\n", "", 0)
