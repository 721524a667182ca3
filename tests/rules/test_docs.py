"""The README's and docs' promises that a test can hold them to."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import page_code
import pytest

from ascend_infer import Session, errors
from ascend_infer.simulator import library_path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: Pages whose Python runs as it stands, one block after the other, beside a model directory and photos.
PROGRAMS = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("tutorial", "migration", "sessions", "batching", "gears")),
]


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


#: Pages whose Python changes its process, with what stands for the reader's own device and models.
PROGRAMS_OF_A_PROCESS: dict[str, dict[str, str]] = {
    "metrics": {},
    "memory": {
        "npu:0": "sim:0", "repository/detector": "resnet50.om", "repository/classifier": "resnet50.om"
    },
}  # fmt: skip


@pytest.mark.parametrize("page", PROGRAMS_OF_A_PROCESS)
def test_python_in_the_pages_runs_in_a_process_of_its_own(page: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    try:
        library_path()
    except errors.LibraryNotFoundError:
        pytest.skip("libascendcl_sim.so was not built")
    page_code.furnish(tmp_path, simulator=True)
    code = "\n".join(page_code.blocks(ROOT / "docs" / f"{page}.md"))
    for readers, ours in PROGRAMS_OF_A_PROCESS[page].items():
        assert readers in code
        code = code.replace(readers, ours)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


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
