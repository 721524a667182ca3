"""``ascend-infer compare``: verdicts, exit codes, inputs, and what is refused."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import numpy as np
import onnx_models as made
import pytest
import twin_models as twins
from cli_run import Cli
from onnx import TensorProto, helper
from PIL import Image
from scale_model import scale_directory

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)
CPU = ("--device", "cpu")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of docs/compare.md."""
    for name, make in (
        ("model", twins.classifier),
        ("bgr", twins.swapped_channels),
        ("fp16", twins.half_weights),
        ("shifted", twins.shifted_rows),
    ):
        twins.saved(make(), tmp_path, name)
    scale_directory(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
    return tmp_path


def test_the_same_exits_with_0(cli: Cli, files: Path) -> None:
    done = cli("compare", "model.onnx", "model.onnx", *CPU)
    assert done.code == 0, done
    assert "3 requests: same: every output is the same, bit for bit" in done.out
    assert "4 of" not in done.out
    assert "12 of 12" in done.out  # three requests of four rows, all of the same class


def test_what_differs_exits_with_1_and_says_why(cli: Cli, files: Path) -> None:
    done = cli("compare", "model.onnx", "bgr.onnx", *CPU)
    assert done.code == 1
    assert "differs: looks like channels swapped" in done.out
    quiet = cli("compare", "model.onnx", "bgr.onnx", *CPU, "--no-explain")
    assert quiet.code == 1
    assert "channels" not in quiet.out


def test_within_tolerance_exits_with_0_unless_exact(cli: Cli, files: Path) -> None:
    words = ("compare", "model.onnx", "fp16.onnx", *CPU, "--rtol", "0.05", "--atol", "0.5")
    done = cli(*words)
    assert done.code == 0, done
    assert "within tolerance: looks like float16 weights" in done.out
    assert cli(*words, "--exact").code == 1


def test_json(cli: Cli, files: Path) -> None:
    done = cli("compare", "model.onnx", "shifted.onnx", *CPU, "--json", "--rounds", "1", "-b", "3")
    assert done.code == 1
    [finding] = done.json["findings"]
    assert (finding["kind"], finding["verified"]) == ("rows_dropped", True)
    assert done.json["outputs"]["scores"]["rows"] == 3


def test_versions_of_a_model(cli: Cli, files: Path) -> None:
    done = cli("compare", "scale", "--version-a", "1", "--version-b", "2", *CPU)
    assert done.code == 1
    assert "A: scale version 1 on cpu" in done.out
    assert "B: scale version 2 on cpu" in done.out
    # Version 2 doubles: the same direction, another length.
    assert "1.00000000" in done.out


def test_inputs_that_are_given(cli: Cli, files: Path) -> None:
    np.save("x.npy", twins.pictures(2)["images"])
    done = cli("compare", "model.onnx", "bgr.onnx", *CPU, "--input", "x.npy", "--json")
    assert (done.json["requests"], done.json["outputs"]["scores"]["rows"]) == (1, 2)
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save("photo.png")
    done = cli("compare", "model.onnx", "bgr.onnx", *CPU, "--input", "photo.png", "--preset", "unit")
    assert "channels swapped" in done.out


def test_token_ids_stay_in_the_table_and_masks_are_masks(cli: Cli, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Cast", ["mask"], ["kept"], to=TensorProto.BOOL),
        helper.make_node("Where", ["kept", "rows", "zero"], ["y"]),
    ]
    model = made.model_of(
        nodes,
        [made.value(name, TensorProto.INT64, ["n", "t"]) for name in ("ids", "mask")],
        [made.value("y", TensorProto.FLOAT, ["n", "t"])],
        {"table": np.arange(5, dtype=np.float32), "zero": np.float32(0)},
    )
    path = made.write(model, tmp_path / "m.onnx")
    done = cli("compare", path, path, *CPU, "--shape", "ids:64", "--shape", "mask:64")
    assert done.code == 0, done
    assert "same" in done.out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["model.onnx"], "nothing that is to differ"),
        (["model.onnx", "none.onnx"], "none.onnx"),
        (["model.onnx", "bgr.onnx", "--rtol", "-1"], "expected a number of 0 or more"),
        (["model.onnx", "bgr.onnx", "--range", "images:1,0"], "the lower number first"),
        (["model.onnx", "bgr.onnx", "--shape", "images:3,9,9"], "expected [3, 8, 8]"),
        (["model.onnx", "scale"], "model 'scale', input 'x': got"),
        (["model.onnx", "bgr.onnx", "--input", "x.npy", "--rounds", "2"], "all are given"),
        (["model.onnx", "bgr.onnx", "--input", "x.npy", "--range", "images:0,1"], "is given"),
    ],
)
def test_what_cannot_be_compared(cli: Cli, files: Path, words: list[str], text: str) -> None:
    np.save("x.npy", twins.pictures(2)["images"])
    assert text in cli.refused("compare", *words, *CPU)


def test_an_error_names_the_model_that_it_is_about(cli: Cli, files: Path, tmp_path: Path) -> None:
    twins.saved(made.identity(dims=("n", 3, 9, 9), source="images"), tmp_path, "larger")
    said = cli.refused("compare", "model.onnx", "larger.onnx", *CPU)
    assert "note: while running B, larger on cpu" in said


PAGE = Path(__file__).parents[3] / "docs" / "compare.md"
SHOWN = re.findall(r"^\$ ascend-infer (compare .*)\n((?:(?!\$ |```).*\n)*)", PAGE.read_text(), re.MULTILINE)


def normal(text: str) -> str:
    """Leave out what the arithmetic of another machine may change."""
    text = re.sub(r"\d\S*e-\d+|0\.\d+|\d+ of \d+|\d+ %", "N", text)
    return "\n".join(re.sub(r" {2,}", "  ", line) for line in text.splitlines()).strip()


@pytest.mark.parametrize(("line", "shown"), SHOWN)
def test_the_page_shows_what_is_printed(cli: Cli, files: Path, line: str, shown: str) -> None:
    done = cli(*shlex.split(line))
    assert normal(done.err + done.out) == normal(shown)


def test_the_page_shows_each_verdict() -> None:
    assert len(SHOWN) >= 4
