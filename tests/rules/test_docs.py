"""The README's and docs' promises that a test can hold them to."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import page_app
import page_code
import pytest
from page_lists import PAGES, PROGRAMS, PROGRAMS_OF_A_PROCESS, ROOT

from ascend_infer import Session, errors
from ascend_infer.simulator import library_path


def test_every_error_is_in_its_page() -> None:
    page = (ROOT / "docs" / "errors.md").read_text()
    assert not [name for name in errors.__all__ if name != "AscendInferError" and f"`{name}`" not in page]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_says_what_was_not_run() -> None:
    assert "Not run on Ascend hardware" in (ROOT / "README.md").read_text()


def test_the_readme_leads_to_every_page() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 200
    assert not [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name}" not in text]


def test_the_readmes_first_two_shell_blocks_are_the_two_commands() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert "examples/classify_photo.py" in blocks[0]
    assert "pytest" in blocks[1]
    assert all(len(block.strip().splitlines()) == 1 for block in blocks[:2])


def test_python_in_the_pages_compiles() -> None:
    for page in PAGES:
        for code in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            compile(code, str(page), "exec")


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.stem)
@pytest.mark.parametrize("simulator", [False, True], ids=["cpu", "sim"])
def test_python_in_the_pages_runs(
    page: Path, simulator: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    if simulator:
        if not any(map(page_code.needs_the_simulator, page_code.blocks(page))):
            return
        try:
            library_path()
        except errors.LibraryNotFoundError:
            pytest.skip("libascendcl_sim.so was not built")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    page_code.furnish(tmp_path, simulator=simulator)
    names = page_code.run(page, simulator=simulator)
    for session in {id(item): item for item in names.values() if isinstance(item, Session)}.values():
        session.close()


@pytest.mark.parametrize("page", PROGRAMS_OF_A_PROCESS)
def test_python_in_the_pages_runs_in_a_process_of_its_own(page: str, tmp_path: Path) -> None:
    page_code.needs_a_simulated_card()
    page_code.furnish(tmp_path, simulator=True)
    code = "\n".join(page_code.blocks(ROOT / "docs" / f"{page}.md"))
    for readers, ours in PROGRAMS_OF_A_PROCESS[page].items():
        assert readers in code
        code = code.replace(readers, ours)
    runs(["-c", code], tmp_path)


def runs(command: list[str], place: Path) -> str:
    """Run a program in a folder, by this interpreter; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tests_of_the_page_about_tests_pass(tmp_path: Path) -> None:
    page_code.needs_a_simulated_card()
    page_app.furnish(tmp_path)
    tests, without_pytest = page_code.blocks(ROOT / "docs" / "testing.md")
    (tmp_path / "test_page.py").write_text(tests)
    assert "3 passed" in runs(["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py"], tmp_path)
    assert "    ...  " in without_pytest
    work = "    import my_app; my_app.Tagger('model_repository/tagger').__exit__()  "
    runs(["-c", without_pytest.replace("    ...  ", work)], tmp_path)


#: What docs/pyacl.md leaves to the reader: a picture, memory on the card, and a model's own input.
PYACL_BEFORE = """
import os
os.environ["ASCEND_INFER_DEVICE"] = "sim"
import numpy as np
picture = np.full((3, 224, 224), 0.5, np.float32)
"""
PYACL_OPENS = """
import ascend_infer as ai
from ascend_infer.compat import acl
session = ai.Session("resnet50.om")
nbytes = 3 * 224 * 224 * 4
"""
PYACL_AFTER = """
assert result["scores"].shape == (1, 1000)
assert not acl.rt.free(address)
session.close()
"""


def test_the_blocks_about_pyacl_run(tmp_path: Path) -> None:
    page_code.needs_a_simulated_card()
    page_code.furnish(tmp_path, simulator=True)
    first, pointer, install = page_code.blocks(ROOT / "docs" / "pyacl.md")
    pointer = pointer.replace("(4, 3,", "(1, 3,").replace("import ascend_infer as ai\n", PYACL_OPENS)
    runs(["-c", PYACL_BEFORE + first + pointer + PYACL_AFTER], tmp_path)
    check = "assert acl.init() == 0 and acl.rt.get_device_count() == (1, 0)\n"
    runs(["-c", install + check], tmp_path)


def test_the_block_about_joblib_runs(tmp_path: Path) -> None:
    page_code.furnish(tmp_path, simulator=False)
    [code] = [block for block in page_code.blocks(ROOT / "docs" / "cluster.md") if "joblib" in block]
    code = (
        code.replace("a.jpg", "photos/01.jpg")
        .replace("b.jpg", "photos/02.jpg")
        .replace("resnet50", "efficientnet_lite0")
    )
    (tmp_path / "many.py").write_text(code + "    print(labels)\n")
    assert "class " in runs(["many.py"], tmp_path)


def test_every_benchmark_says_how_to_run_it() -> None:
    page = (ROOT / "docs" / "bench.md").read_text()
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        if path.name != "measure.py":
            assert f"benchmarks/{path.name}" in page, path.name


def test_every_example_is_in_the_page() -> None:
    page = (ROOT / "docs" / "examples.md").read_text()
    for path in sorted((ROOT / "examples").iterdir()):
        if path.suffix in (".py", ".ipynb", "") and not path.name.startswith((".", "__")):
            assert f"../examples/{path.name}" in page, path.name
