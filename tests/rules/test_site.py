"""The documentation site: it builds without a warning, shows every page, and names everything that is public."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_infer

ROOT = Path(__file__).parents[2]

#: Packages with names of their own that are not for users. A new package is in the reference, or is put here.
INTERNAL = {"backends", "cli", "compat", "onnx_file", "scheduling", "trial_inputs"}

#: Under the package's own name.
SHOWN_ELSEWHERE = {"ascend_infer.errors.AscendInferError"}

#: Modules, and packages inside others, that pages send users to.
MODULES = ("ascend_infer.scoring.ray", "ascend_infer.compat.acl", "ascend_infer.lint", "ascend_infer.memory")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "myst_parser"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-d", str(place / "trees"), str(ROOT / "docs"), str(place / "html")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return place / "html"


def public_names() -> set[str]:
    packages = [found.name for found in pkgutil.iter_modules(ascend_infer.__path__) if found.ispkg]
    rooms = [f"ascend_infer.{name}" for name in packages if name not in INTERNAL]
    modules = [ascend_infer, *map(importlib.import_module, (*rooms, *MODULES))]
    return {f"{module.__name__}.{name}" for module in modules for name in getattr(module, "__all__", ())}


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    from sphinx.util.inventory import InventoryFile

    with (site / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, path: path)
    shown = {name for role, names in inventory.items() if role.startswith("py:") for name in names}
    missing = public_names() - shown - SHOWN_ELSEWHERE
    assert not missing, sorted(missing)


def test_every_page_is_shown(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        place = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert (site / place).is_file(), place
        # A page that no table of contents names is a warning, and with -W an error.


def test_files_that_are_no_pages_are_named(site: Path) -> None:
    text = (site / "examples.html").read_text(encoding="utf-8")
    assert "examples/classify_photo.py" in text
    assert 'href="../' not in text
