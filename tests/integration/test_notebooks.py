"""The notebooks of the examples, run from top to bottom by Jupyter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from example_run import EXAMPLES
from html_check import checked
from notebook_kernel import needs_jupyter
from real_models import efficientnet_lite0, real_file

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


class Ran:
    """A notebook that ran: its outputs, cell by cell."""

    def __init__(self, book: Any) -> None:
        self._cells = [cell for cell in book.cells if cell.cell_type == "code"]

    def outputs(self, containing: str) -> list[Any]:
        """Return the outputs of the only cell whose code contains this."""
        (found,) = [cell for cell in self._cells if containing in cell.source]
        return list(found.outputs)

    def text_of(self, code: str) -> str:
        """Return what a reader sees of the value of the cell that is just this."""
        (found,) = [cell for cell in self._cells if cell.source == code]
        return checked(found.outputs[0].data["text/html"])

    def printed(self, containing: str) -> str:
        return "".join(out.text for out in self.outputs(containing) if out.output_type == "stream")

    def shown(self, containing: str, kind: str) -> list[Any]:
        """Return what a cell showed of a kind: ``"text/html"``, ``"image/png"``."""
        return [out.data[kind] for out in self.outputs(containing) if kind in out.get("data", {})]

    def check(self) -> None:
        """Assert what holds for every notebook: no warnings, and only HTML that any page can show."""
        for cell in self._cells:
            for out in cell.outputs:
                # A lost device is told aloud: notebook 3 loses one on purpose.
                assert out.get("name") != "stderr" or "is lost: aclrt" in out.text, out.text
                if "text/html" in out.get("data", {}):
                    checked(out.data["text/html"])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a folder with what lies beside the notebooks."""
    for path in [*EXAMPLES.glob("*.py"), EXAMPLES / "unit_tested_app" / "colour_model.py"]:
        target = tmp_path / path.relative_to(EXAMPLES)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, target)
    return tmp_path


def run(name: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    needs_jupyter()
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent), prepend=":")
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(place / "cache"))
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
    book = nbformat.read(EXAMPLES / name, as_version=4)
    client = NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(place)}}
    )
    client.execute()
    ran = Ran(book)
    ran.check()
    return ran


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    for cell in book["cells"]:
        assert cell["id"]
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
    assert book["metadata"].keys() == {"kernelspec", "language_info"}
    assert book["cells"][0]["cell_type"] == "markdown"


@pytest.mark.models
def test_the_first_inference(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place / "model_repository" / "efficientnet_lite0"
    (folder / "1").mkdir(parents=True)
    shutil.copyfile(efficientnet_lite0(), folder / "1" / "model.onnx")
    labels = json.loads(real_file("imagenet_labels.json").read_text())
    (folder / "labels.txt").write_text("\n".join(" ".join(label.split()) for label in labels) + "\n")
    monkeypatch.syspath_prepend(EXAMPLES)
    import classify_photo

    (folder / "config.pbtxt").write_text(classify_photo.CONFIG)
    (place / "photos").mkdir()
    for name in ("coffee.png", "motorcycle_left.png"):
        shutil.copyfile(real_file(name), place / "photos" / name)
    ran = run("1_first_inference.ipynb", place, monkeypatch)
    (signature,) = ran.shown("session = ai.Session", "text/html")
    assert "efficientnet_lite0" in signature
    assert "images" in signature
    (top,) = ran.shown("result.top_k", "text/plain")
    assert "label='espresso'" in top.splitlines()[0]
    assert len(ran.shown("plt.subplots", "image/png")) == 1
    assert ran.printed("for photo, ranked").splitlines() == [
        "coffee.png: espresso, 0.951",
        "motorcycle_left.png: moped, 0.506",
    ]
    assert "image" in ran.printed('infer({"image": images})')
    assert "got float64, expected float32" in ran.printed("float64")
    assert "closed" in ran.shown("session.close()", "text/html")[0]


def test_batching(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("2_batching.ipynb", place, monkeypatch)
    assert len(ran.shown("alone = raise_the_load", "image/png")) == 1
    assert len(ran.shown("together = raise_the_load", "image/png")) == 1
    assert len(ran.shown("plt.subplots", "image/png")) == 1
    assert "mean batch" in ran.text_of("stats")
    gain = float(ran.printed("gain =").split(": ")[1].split()[0])
    assert gain > 1
    delays = [line.split() for line in ran.printed("for delay in").splitlines()]
    assert [words[1] for words in delays] == ["0", "10", "30"]
    assert int(delays[0][3]) > int(delays[2][3])  # fewer batches
    assert "64 requests in" in ran.printed("asyncio.gather")


def test_the_simulated_card(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("3_simulated_card.ipynb", place, monkeypatch)
    gears = " ".join(checked(page) for page in ran.shown("session.explain(photo=(rows", "text/html"))
    for text in ("would run as it is: 4", "would pad 5 -> 8", "would split 21 rows", "refused"):
        assert text in gears
    assert ran.printed("session.explain(photo=(rows").startswith("(5, 4) after")
    assert len(ran.shown("plt.subplots", "image/png")) == 1
    pool = checked(ran.shown("growable=False) as pool:\n        with", "text/html")[0])
    assert "of 66.0 MiB in use, fixed" in pool  # its size and the device's own page
    assert "weights of colours" in pool
    assert "on the card: 0 allocations left" in ran.printed("growable=False) as pool:\n        with")
    assert "sessions fit. The next one:" in ran.printed("PoolLimitError")
    faults = ran.printed("aclmdlExecuteAsync@2").splitlines()
    assert faults[0] == "request 1: answered, (1, 4)"
    assert faults[1].startswith("request 2: ")
    assert "507015" in ran.printed("aclmdlExecuteAsync@2")
    assert faults[-1] == "request 3: answered, (1, 4)"
    assert "too slow: model 'colours'" in ran.printed("TimeModel(compute_fixed_us=20_000)")
    assert "Error: " in ran.printed("@lost after 0s")


def test_scoring(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    ran = run("4_scoring.ipynb", place, monkeypatch)
    assert ran.shown("instances=2", "application/vnd.jupyter.widget-view+json")
    (summary,) = ran.shown("instances=2", "text/html")
    assert "rows601failed1" in checked(summary)
    assert "damaged" in ran.printed("rows[99:102]")
    assert len(ran.shown("plt.subplots", "image/png")) == 1
    assert "600 of 600 pictures" in ran.printed("plt.subplots")
    assert "stopped after" in ran.printed("breaks = True")
    done = ran.printed("breaks = False")
    counts = [int(word) for word in done.split() if word.isdigit()]
    assert counts[0] > 0
    assert sum(counts) == 601
    assert "the same: True" in done
