"""The package as pip would install it, entry point included, whatever way the tests' own copy came."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import ascend_infer

__all__ = ["PLUGIN", "install", "run_pytest"]

PLUGIN = "ascend_infer.pytest_plugin"

ROOT = Path(__file__).parents[2]


def install(site: Path) -> Path:
    """Make a folder for PYTHONPATH that holds the package and its metadata, with pyproject.toml's entry points."""
    package = Path(ascend_infer.__file__).parent
    site.mkdir(parents=True, exist_ok=True)
    (site / "ascend_infer").symlink_to(package)
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    metadata = site / "ascend_infer-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ascend-infer\nVersion: 0.1.0\n")
    lines = "".join(f"{name} = {target}\n" for name, target in entries.items())
    (metadata / "entry_points.txt").write_text(f"[pytest11]\n{lines}")
    files = [f"ascend_infer/{path.relative_to(package)}" for path in sorted(package.rglob("*.py"))]
    (metadata / "RECORD").write_text("".join(f"{name},,\n" for name in files))
    return site


def run_pytest(
    place: Path, *options: str, site: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a process of its own on the tests in a folder, with the package as installed."""
    site = site or install(place.parent / f"{place.name}-site")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(place)]
    return subprocess.run(
        [*command, *options, str(place)],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(site), "PYTEST_ADDOPTS": "", **environment},
    )
