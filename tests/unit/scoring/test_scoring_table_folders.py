"""Folders and patterns of tables, as people have them: Hive's folders, notes beside the files, one form of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.rows import Row
from ascend_infer.scoring.sources import SourceOptions, open_source

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ALL = SourceOptions(("x",), everything=True)


def rows_of(source: Any, options: SourceOptions = ALL) -> list[Row]:
    return list(open_source(source, options).rows(0))


def table(path: Path, x: float, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": [x], **{name: [value] for name, value in columns.items()}}), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two years of Hive's, and what writers and people leave beside them."""
    data = tmp_path / "data"
    for year in (2024, 2023):
        table(data / f"year={year}" / "part-0.PARQUET", year / 2)
    for name in ("README.md", "_SUCCESS", ".part-0.parquet.crc", ".hidden.parquet", "_temporary/0.parquet"):
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).write_bytes(b"no table")
    return data


@pytest.mark.parametrize("pattern", ["", "*/*.PARQUET", "**/*.PARQUET", "year=*/*"])
def test_hive_folders_make_a_column(folder: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.chdir(folder.parent)
    for top in (folder, Path("data")):
        found = [row.item for row in rows_of(top / pattern)]
        assert found == [{"x": 1011.5, "year": 2023}, {"x": 1012.0, "year": 2024}]


def test_a_folder_s_name_feeds_an_input_only_when_it_is_asked_for(folder: Path) -> None:
    named = [
        (SourceOptions(("other",)), {"x": 1011.5}),
        (SourceOptions(("year",)), {"year": 2023}),
        (SourceOptions(("other",), column="year"), {"year": 2023}),
    ]
    for options, item in named:
        assert rows_of(folder, options)[0].item == item
    assert [row.id for row in rows_of(folder, SourceOptions(("x",), id_column="year"))] == ["2023", "2024"]


def test_a_column_that_the_files_hold_is_theirs(tmp_path: Path) -> None:
    table(tmp_path / "data" / "day=7" / "a.parquet", 1.0, day=7.5)
    assert rows_of(tmp_path / "data")[0].item == {"x": 1.0, "day": 7.5}


def test_a_pattern_of_tables_is_read_as_one(tmp_path: Path) -> None:
    for name in ("b", "a"):
        table(tmp_path / f"{name}.parquet", float(ord(name)))
    (tmp_path / "notes.txt").write_text("x")
    for pattern in ("*.parquet", "*", "[ab].*"):
        assert [row.item for row in rows_of(tmp_path / pattern)] == [{"x": 97.0}, {"x": 98.0}]


def test_several_kinds_in_one_folder_are_told(folder: Path) -> None:
    (folder / "leaf.png").write_bytes(b"x")
    for source in (folder, folder / "**/*"):
        with pytest.raises(
            InvalidOptionError,
            match=r"got pictures .*leaf\.png\) and \.parquet tables .*, expected one kind; say",
        ):
            open_source(source, ALL)
    assert [row.id for row in rows_of(folder / "*.png")] == [str(folder / "leaf.png")]
    assert len(rows_of(folder / "*/*.PARQUET")) == 2
    (folder / "leaf.png").rename(folder / "more.arrow")
    with pytest.raises(InvalidOptionError, match=r"got \.arrow tables .* and \.parquet tables"):
        open_source(folder, ALL)


def test_pictures_with_scores_beside_them_are_pictures(tmp_path: Path) -> None:
    (tmp_path / "leaf.png").write_bytes(b"x")
    (tmp_path / "scores.parquet").write_bytes(b"x")
    (tmp_path / "scores.parquet.manifest.json").write_bytes(b"x")
    assert [row.id for row in rows_of(tmp_path)] == ["leaf.png"]
