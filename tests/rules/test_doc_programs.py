"""Python of the pages that needs something made ready first, and that no page's Python is left out."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models
import page_code
import photos
import pytest
import twin_models
from page_lists import NOT_RUN, PAGES, PROGRAMS, PROGRAMS_OF_A_PROCESS, ROOT, RUN_ELSEWHERE
from stand_in_atc import StandInAtc, stand_in_atc

from ascend_infer import om
from ascend_infer.comparison import Comparison

__all__ = ["stand_in_atc"]

Names = dict[str, Any]


def perf(place: Path) -> Names:
    page_code.furnish(place, simulator=False)
    return {"images": np.zeros((1, 3, 224, 224), np.float32)}


def compare(place: Path) -> Names:
    twin_models.saved(twin_models.classifier(), place, "model")
    twin_models.saved(twin_models.half_weights(), place, "model_fp16")
    return twin_models.pictures()


def compared(names: Names, place: Path) -> None:
    found = names["found"]
    assert isinstance(found, Comparison)
    assert found.findings[0].kind == "half_precision"


def notebooks(place: Path) -> Names:
    pytest.importorskip("matplotlib")
    photos.colours_directory(place / "model_repository")
    return {}


def drawn(names: Names, place: Path) -> None:
    import matplotlib.pyplot as plt

    assert (place / "load.png").read_bytes().startswith(b"\x89PNG")
    plt.close("all")


def om_files(place: Path) -> Names:
    from ascend_infer.simulator import compile_model

    page_code.needs_a_simulated_card()
    source = onnx_models.write(page_code.classifier("prob"), place / "resnet50.onnx")
    folder = place / "model_repository" / "resnet50" / "1"
    folder.mkdir(parents=True)
    compile_model(source, folder / "model.om", input_shapes={"images": (1, 3, 224, 224)})
    return {"onnx_bytes": source.read_bytes()}


def written(names: Names, place: Path) -> None:
    assert [gear.values for gear in om.read(place / "model.om").gears] == [(1,), (2,), (4,), (8,)]


def compiled(names: Names, place: Path) -> None:
    model = om.read(names["om_of"](str(onnx_models.write(onnx_models.scale(2.0), place / "scale.onnx"))))
    assert [gear.values for gear in model.gears] == [(1,), (4,)]


def nothing(*_: object) -> Names:
    return {}


#: By page: what makes ready, what is asked afterwards, and what stands for the page's own words.
PREPARED: dict[str, tuple[Callable[[Path], Names], Callable[[Names, Path], object], dict[str, str]]] = {
    "docs/perf.md": (perf, nothing, {"interval_ms=2000": "interval_ms=50"}),
    "docs/compare.md": (compare, compared, {}),
    "docs/notebooks.md": (notebooks, drawn, {}),
    "docs/om.md": (om_files, written, {}),
    "docs/compile.md": (nothing, compiled, {}),
    "docs/acl_errors.md": (nothing, nothing, {}),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in_atc: StandInAtc) -> Iterator[Path]:
    """Give a folder that is the current one, on the CPU, with a compiler that only looks like one."""
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path


@pytest.mark.parametrize("page", PREPARED)
def test_python_in_the_pages_runs_with_what_it_speaks_of(page: str, place: Path) -> None:
    before, after, replaced = PREPARED[page]
    names: Names = {"__name__": "__main__", **before(place)}
    blocks = page_code.blocks(ROOT / page)
    assert blocks
    for code in blocks:
        for readers, ours in replaced.items():
            assert readers in code
            code = code.replace(readers, ours)
        exec(compile(code, page, "exec"), names)
    after(names, place)


def test_every_page_with_python_is_run_or_says_why_not() -> None:
    run = {
        *(str(page.relative_to(ROOT)) for page in PROGRAMS),
        *(f"docs/{page}.md" for page in PROGRAMS_OF_A_PROCESS),
        *PREPARED,
        *RUN_ELSEWHERE,
    }
    pages = {str(page.relative_to(ROOT)): page for page in PAGES}
    with_python = {name for name, page in pages.items() if re.search(r"^```py", page.read_text(), re.M)}
    assert with_python == run  # add a page to one of the lists, or take it out
    for page, file in RUN_ELSEWHERE.items():
        assert Path(page).name in (ROOT / file).read_text(), page


@pytest.mark.parametrize("page", NOT_RUN)
def test_blocks_that_are_not_run_are_those_that_are_listed(page: str) -> None:
    blocks = page_code.blocks(ROOT / page)
    assert [reason for reason in NOT_RUN[page].values() if not reason] == []
    assert len(NOT_RUN[page]) < len(blocks)
    for line in NOT_RUN[page]:
        assert len([code for code in blocks if line in code]) == 1, line
    ours = [code for code in blocks if not any(line in code for line in NOT_RUN[page])]
    assert not [code for code in ours if re.search(r"^(import|from) ray\b", code, re.MULTILINE)]
    assert len(ours) == 1  # the one that test_docs runs
