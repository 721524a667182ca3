"""A manifest names the model that ran: its files as they were when it was loaded, weights in other files too."""

from __future__ import annotations

import os
from pathlib import Path

import onnx_models as made
import pytest
from scale_model import scale_directory

import ascend_infer as ai
from ascend_infer.errors import ResumeError, ScoringSourceError
from ascend_infer.scoring import score
from ascend_infer.scoring.ray import pin

ROWS = [("a", [1, 2, 3, 4])]


def replaced(path: Path, content: bytes) -> None:
    """Put another file of the same time in a file's place."""
    found, beside = path.stat(), path.with_suffix(".new")
    beside.write_bytes(content)
    os.utime(beside, ns=(found.st_atime_ns, found.st_mtime_ns))
    beside.replace(path)


@pytest.mark.parametrize("name", ["2/model.onnx", "labels.txt"])
def test_a_model_that_was_changed_since_it_was_loaded(session: ai.Session, tmp_path: Path, name: str) -> None:
    file = Path(session.path) / name
    (Path(session.path) / "2" / "notes.txt").write_text("new ones do not count")
    session.score(ROWS, out=tmp_path / "x.csv")
    assert session.changed_files() == {}
    replaced(file, file.read_bytes()[::-1])
    assert session.changed_files() == {str(file): "it was written again"}
    with pytest.raises(ScoringSourceError, match=f"{name}: it was changed since the session was opened"):
        session.score(ROWS, out=tmp_path / "y.csv")
    assert not (tmp_path / "y.csv.manifest.json").exists()


def test_a_model_that_was_changed_between_two_sessions(session: ai.Session, tmp_path: Path) -> None:
    file = Path(session.path) / "2" / "model.onnx"
    made.write(made.scale(3), file)
    with (
        ai.Session(session.path, device="cpu", threads=1) as later,
        pytest.raises(ScoringSourceError, match="was changed since the session was opened"),
    ):
        score([later, session], ROWS, out=tmp_path / "y.csv")


@pytest.mark.parametrize("weights", ["weights.bin", "part/w"])
def test_weights_in_a_file_of_another_name(tmp_path: Path, weights: str) -> None:
    pytest.importorskip("onnxruntime")
    model = tmp_path / "model.onnx"
    made.write_with_weights(made.scale(2), model, weights)
    before = pin(model)
    assert set(before["content"]) == {"model.onnx", weights}
    with ai.Session(model, device="cpu", threads=1) as session:
        session.score(ROWS, out=tmp_path / "y.csv")
    made.write_with_weights(made.scale(3), model, weights)
    assert pin(model)["content"][weights] != before["content"][weights]
    with (
        ai.Session(model, device="cpu", threads=1) as session,
        pytest.raises(ResumeError, match=f"model.content.{weights}: was"),
    ):
        session.score(ROWS, out=tmp_path / "y.csv")


def test_a_model_whose_file_is_gone(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    folder = scale_directory(tmp_path)
    with ai.Session(folder, device="cpu", threads=1) as session:
        (folder / "2" / "model.onnx").unlink()
        assert session.changed_files() == {str(folder / "2" / "model.onnx"): "it is gone"}
