"""The program with standard streams that are closed or full, and in places where nothing can be done."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from onnx_models import identity, write

needs_onnxruntime = pytest.mark.skipif(
    find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)
PROGRAM = f"{shlex.quote(sys.executable)} -m ascend_infer"


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "ASCEND_INFER_DEVICE": "cpu"},
    )  # fmt: skip


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(identity(), tmp_path / "m.onnx")


@needs_onnxruntime
def test_notes_do_not_get_among_the_results_when_their_stream_is_closed(model: Path) -> None:
    done = shell(f"{PROGRAM} infer m.onnx --input '[1, 2, 3, 4]' --json --out o.npy 2>&-", model.parent)
    assert done.returncode == 0
    assert json.loads(done.stdout)["outputs"]["y"]["shape"] == [1, 4]


@pytest.mark.parametrize(
    "words", ["", "nonsense", "inspect gone.onnx --debug", "inspect", "doctor --device x"]
)
def test_errors_stay_away_from_standard_output(model: Path, words: str) -> None:
    done = shell(f"{PROGRAM} {words} 2>&-", model.parent)
    assert (done.returncode, done.stdout) == (2, "")


def test_closed_standard_output(model: Path) -> None:
    assert shell(f"{PROGRAM} inspect m.onnx >&-", model.parent).returncode == 0
    done = shell(f"{PROGRAM} doctor --time-limit 60 >&-", model.parent)
    assert done.returncode in (0, 1)
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["--help", "infer --help", "inspect m.onnx"])
def test_output_that_cannot_be_written_is_an_error(model: Path, words: str, unbuffered: str) -> None:
    done = shell(f"PYTHONUNBUFFERED={unbuffered} {PROGRAM} {words} >/dev/full", model.parent)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output cannot be written: ")


def test_a_current_folder_that_is_gone(tmp_path: Path) -> None:
    done = shell(f'mkdir gone && cd gone && rmdir "$PWD" && {PROGRAM} inspect x', tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: the current directory is not there any more: change to another one\n"


@needs_onnxruntime
def test_a_shells_pipe_of_labels(model: Path) -> None:
    line = f"printf 'a\\nb\\nc\\nd\\n' | {PROGRAM} infer m.onnx --input '[[1, 2, 3, 4]]' --labels /dev/stdin"
    assert "4  3  d" in shell(line, model.parent).stdout
