"""Running the examples: as programs of their own, or loaded to have their parts tested."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from installed_plugin import install
from PIL import Image

__all__ = ["EXAMPLES", "colour_model", "loaded", "run", "write_photos"]

EXAMPLES = Path(__file__).parents[2] / "examples"


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


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def colour_model(repository: Path) -> Path:
    """Write the colour model, in two versions: a real one with labels that needs no download."""
    folder: Path = loaded(EXAMPLES / "unit_tested_app" / "colour_model.py").write(repository, versions=(1, 2))
    return folder


def write_photos(folder: Path) -> list[Path]:
    """Write a red, a green and a dark photo."""
    for name, colour in {"red": (220, 20, 30), "green": (20, 190, 40), "dark": (12, 10, 9)}.items():
        Image.new("RGB", (64, 48), colour).save(folder / f"{name}.png")
    return [folder / f"{name}.png" for name in ("red", "green", "dark")]
