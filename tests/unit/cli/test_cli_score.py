"""``ascend-infer score``: the words of the command line, its summary and its exit codes."""

from __future__ import annotations

import importlib.util
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_run import Cli
from photos import CONFIG, colours_directory, photo_folder
from scale_model import scale_directory

from ascend_infer.scoring import feeding

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")


def test_a_folder_of_photos_and_its_summary(cli: Cli, tmp_path: Path) -> None:
    model, photos = colours_directory(tmp_path), photo_folder(tmp_path, 12)
    done = cli("score", model, photos, "--out", tmp_path / "y.csv", "--json")
    assert done.code == 0
    assert not done.err  # no terminal, no progress
    assert done.json["rows"] == 12
    assert done.json["threads"] == 1
    assert {"read", "prepare", "queue", "infer", "rank", "write", "assemble"} == set(
        done.json["stage_seconds"]
    )
    assert len((tmp_path / "y.csv").read_text().splitlines()) == 13
    again = cli("score", model, photos, "--out", tmp_path / "y.csv")
    assert again.out.startswith(f"12 rows in {tmp_path / 'y.csv'}, 0 failed, 12 of them from an earlier run")


def test_rows_that_failed_are_an_exit_code(cli: Cli, tmp_path: Path) -> None:
    model, photos = colours_directory(tmp_path), photo_folder(tmp_path, 3)
    (photos / "0001.jpg").write_bytes(b"x")
    done = cli("score", model, photos, "--out", tmp_path / "y.jsonl", "--top-k", 1)
    assert done.code == 1
    assert "  0001.jpg: " in done.out


def test_what_is_refused(cli: Cli, tmp_path: Path) -> None:
    model = colours_directory(tmp_path, CONFIG.replace("parameters", "# parameters"))
    photos, out = photo_folder(tmp_path, 1), tmp_path / "y.csv"
    assert "give --preset NAME" in cli.refused("score", model, photos, "--out", out)
    assert "no such file or folder" in cli.refused("score", model, tmp_path / "none.csv", "--out", out)
    assert "expected a whole number" in cli.refused("score", model, photos, "--out", out, "--batch", "many")
    assert "did you mean 'unit'" in cli.refused("score", model, photos, "--out", out, "--preset", "unti")
    assert "required: --out" in cli.refused("score", model, photos)
    fields = '{"preset": "unit", "scale": 1}'
    words = ["score", model, photos, "--out", out, "--size", 16, "--quiet"]
    assert cli(*words, "--preset", fields, "--top-k", 0).code == 0
    assert "options.preprocess" in cli.refused(*words, "--preset", "unit", "--top-k", 0)
    assert cli(*words, "--preset", "unit", "--overwrite").code == 0


def test_several_devices_and_a_file_of_labels(cli: Cli, tmp_path: Path) -> None:
    model = scale_directory(tmp_path)
    np.save(tmp_path / "x.npy", np.eye(4, dtype=np.float32))
    (tmp_path / "own.txt").write_text("a\nb\nc\nd\n")
    words = ["--device", "cpu", "--device", "cpu", "--labels", tmp_path / "own.txt", "--json", "--top-k", 1]
    done = cli("score", model, tmp_path / "x.npy", "--out", tmp_path / "y.csv", *words)
    assert [item["device"] for item in done.json["devices"]] == ["cpu", "cpu"]
    assert [line.split(",")[1] for line in (tmp_path / "y.csv").read_text().splitlines()[1:]] == list("abcd")


def test_ctrl_c_says_how_to_go_on(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, photos = colours_directory(tmp_path), photo_folder(tmp_path, 3)
    real = feeding.prepare

    def press(*given: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(feeding, "prepare", real)
        return real(*given, **options)

    monkeypatch.setattr(feeding, "prepare", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = cli("score", model, photos, "--out", tmp_path / "y.csv", "--workers", 1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.code == 130
    assert "note: 0 of 3 rows are scored and kept in" in done.err
    assert cli("score", model, photos, "--out", tmp_path / "y.csv").code == 0
