"""An output in the folder that is scored: the same call goes on and finds its end, whatever lies there by then."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from photos import colours_directory, photo_folder

import ascend_infer as ai
from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.run_files import RunFiles
from ascend_infer.scoring.sources import SourceOptions, open_source


def tables(folder: Path, suffix: str = "parquet") -> Path:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    write = pyarrow.parquet.write_table if suffix == "parquet" else pyarrow.feather.write_feather
    folder.mkdir()
    for number in range(3):
        rows = np.full((10, 4), number, np.float32)
        write(pa.table({"x": pa.array(list(rows))}), folder / f"{number}.{suffix}")
    return folder


class Stop:
    """A function that is interrupted once, at its twelfth row."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, arrays: dict[str, Any]) -> float:
        self.rows += 1
        if self.rows == 12:
            raise KeyboardInterrupt
        return float(arrays["y"][0])


@pytest.mark.parametrize(
    ("suffix", "source", "out"),
    [
        ("parquet", "data", "data/scores.parquet"),
        ("parquet", "data/*", "data/scores.parquet"),
        ("parquet", "data/**/*.parquet", "./data/../data/scores.parquet"),
        ("parquet", "data", "way/scores.parquet"),
        ("feather", "data", "data/scores.parquet"),
        ("arrow", "data", "data/scores.parquet"),
    ],
)
def test_tables(
    session: ai.Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    source: str,
    out: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    tables(tmp_path / "data", suffix)
    (tmp_path / "way").symlink_to(tmp_path / "data")
    stop = Stop()
    asked: dict[str, Any] = {"out": out, "postprocess": stop, "part_rows": 5, "batch": 1, "workers": 1}
    with pytest.raises(KeyboardInterrupt):
        session.score(source, **asked)
    assert os.listdir("data/scores.parquet.parts")
    for earlier in (None, 30):
        done = session.score(source, **asked)
        assert done.rows == 30
        assert done.resumed_rows == earlier or (earlier is None and 0 < done.resumed_rows < 30)
    session.score(source, **{**asked, "overwrite": True})


def test_pictures_of_a_pattern_that_matches_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = photo_folder(tmp_path, 4)
    monkeypatch.chdir(folder)
    with ai.Session(colours_directory(tmp_path), device="cpu") as session:
        for source, out in (("*", "labels.csv"), ("**/*.jpg", "labels.jpg"), ("**", "scores")):
            form = "npz" if out == "scores" else "csv"
            for earlier in (0, 4):
                done = session.score(source, out=out, form=form)
                assert (done.rows, done.resumed_rows, done.failed) == (4, earlier, 0)
            for name in (out, f"{out}.manifest.json"):
                path = folder / name
                path.rename(tmp_path / name)


def test_what_no_run_made_is_the_source_s(session: ai.Session, tmp_path: Path) -> None:
    folder = tables(tmp_path / "data")
    out = folder / "2.parquet"
    Path(f"{out}.manifest.json").write_text("{}")
    before = out.read_bytes()
    with pytest.raises(InvalidOptionError, match=r"is a file of the source, .*2\.parquet"):
        session.score(folder, out=out, overwrite=True)
    assert out.read_bytes() == before


def test_files_of_the_same_names_elsewhere_are_the_source_s(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "deep", tmp_path / "deep" / "y.jpg.parts"):
        folder.mkdir(exist_ok=True)
        (folder / "y.jpg.manifest.json.tmp").write_bytes(b"x")
        (folder / "a.jpg").write_bytes(b"x")
    options = SourceOptions(("x",), own=RunFiles(str(tmp_path / "y.jpg")))
    assert [row.id for row in open_source(tmp_path, options).rows(0)] == [
        "a.jpg",
        "deep/a.jpg",
        "deep/y.jpg.parts/a.jpg",
    ]
    found = [os.path.relpath(row.id, tmp_path) for row in open_source(tmp_path / "**", options).rows(0)]
    assert "y.jpg.manifest.json.tmp" not in found
    assert "deep/y.jpg.manifest.json.tmp" in found
    assert len(found) == 5
