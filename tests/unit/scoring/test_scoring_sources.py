"""Sources give their rows in order, from any row on, and tell when they are not what they were."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ascend_infer as ai
from ascend_infer.errors import InvalidOptionError, ScoringSourceError
from ascend_infer.scoring.rows import BadItem, Row
from ascend_infer.scoring.sources import SourceOptions, open_source

X = SourceOptions(("x",))


def rows_of(source: Any, start: int = 0) -> list[Row]:
    return list(source.rows(start))


def test_pictures_come_in_the_order_of_their_paths_whatever_the_folders(tmp_path: Path) -> None:
    for name in ("b/2.jpg", "b/10.JPEG", "a.png", "b.jpg", "notes.txt", ".hidden.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    source = open_source(tmp_path, X)
    names = ["a.png", "b.jpg", "b/10.JPEG", "b/2.jpg"]
    assert [row.id for row in rows_of(source)] == names == sorted(names)
    assert [row.index for row in rows_of(source, 2)] == [2, 3]
    assert rows_of(source)[2].item == str(tmp_path / "b/10.JPEG")
    assert source.total == 4
    before = source.identity()
    assert before == open_source(tmp_path, X).identity()
    os.utime(tmp_path / "a.png", ns=(1, 1))
    assert open_source(tmp_path, X).identity() != before


def test_a_picture_s_name_takes_little_memory(tmp_path: Path, session: ai.Session) -> None:
    count = 5000
    for number in range(count):
        os.mknod(tmp_path / f"a_name_of_some_length_{number:08d}.jpg")

    def stop(path: str) -> Any:
        raise KeyboardInterrupt

    def interrupted(source: Path) -> None:
        with pytest.raises(KeyboardInterrupt):
            session.score(source, out=tmp_path / "y.csv", preprocess=stop, workers=1, batch=1, resume=False)

    interrupted(tmp_path / "a_name*1.jpg")  # what is imported and made once does not count
    tracemalloc.start()
    try:
        interrupted(tmp_path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    listed = (tmp_path / "y.csv.parts" / "source.list").read_bytes().splitlines()
    assert len(listed) == count == len({line.split(b"\t")[0] for line in listed})
    assert most / count < 220


def test_each_folder_is_read_once_whatever_links_lead_to_it(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "1.jpg").write_bytes(b"x")
    other = tmp_path / "other"
    other.mkdir()
    (other / "2.jpg").write_bytes(b"x")
    (inner / "up").symlink_to(tmp_path)
    (inner / "self").symlink_to(inner)
    (inner / "aside").symlink_to(other)
    (other / "back").symlink_to(inner)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "3.jpg").write_bytes(b"x")
    (elsewhere / "home").symlink_to(tmp_path)
    for name in ("y", "x"):
        (inner / name).symlink_to(elsewhere)
    expected = ["a/b/1.jpg", "a/b/x/3.jpg", "other/2.jpg"]
    assert [row.id for row in rows_of(open_source(tmp_path, X))] == expected
    matched = ["a/b/1.jpg", "a/b/aside/2.jpg", "a/b/x/3.jpg"]
    monkeypatch.chdir(tmp_path)
    assert [row.id for row in rows_of(open_source("**/*.jpg", X))] == expected
    assert [row.id for row in rows_of(open_source("**/b/**/*.jpg", X))] == matched
    absolute = [f"{tmp_path}/{name}" for name in matched]
    assert [row.id for row in rows_of(open_source(f"{tmp_path}/?/**", X))] == absolute


def test_a_folder_of_tables_with_links_in_a_circle(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    inner = tmp_path / "inner"
    inner.mkdir()
    for number, path in enumerate((inner / "b.parquet", tmp_path / "a.parquet", tmp_path / "_meta.parquet")):
        parquet.write_table(pa.table({"id": [str(number)], "x": [[1.0, 2.0]]}), path)
    (inner / "up").symlink_to(tmp_path)
    assert [row.id for row in rows_of(open_source(tmp_path, X))] == ["1", "0"]


def test_a_table_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / os.fsdecode(b"\xff.parquet")
    path.write_bytes(b"x")
    with pytest.raises(InvalidOptionError, match="takes no path that is not UTF-8; rename"):
        open_source(path, X)


def test_a_pattern_matches_what_it_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a1.jpg", "a2.dat", "b.jpg"):
        Path(name).write_bytes(b"x")
    assert [row.id for row in rows_of(open_source("a*", X))] == ["a1.jpg", "a2.dat"]
    with pytest.raises(InvalidOptionError, match="got nothing"):
        open_source("c*", X)
    with pytest.raises(ScoringSourceError, match="no such file or folder"):
        open_source("c.npy", X)


def test_csv_lines_that_are_none_are_rows_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b'\xef\xbb\xbfid,x\na,1\nb\n\nc,"2\n3"\nd,\xff\n')
    rows = rows_of(open_source(path, X))
    assert [row.id for row in rows] == ["a", "b", "c", "d"]
    assert rows[0].item == {"x": "1"}
    assert rows[1].item == BadItem("got 1 fields, expected 2, one for each column")
    assert rows[2].item == {"x": "2\n3"}
    assert rows[3].item == BadItem("the line is not UTF-8")
    assert rows_of(open_source(path, X), 2) == rows[2:]
    with pytest.raises(InvalidOptionError, match="has the columns id, x"):
        open_source(path, SourceOptions(("x",), id_column="key"))


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": 7, "x": [1]}\n\nnope\n[2]\n')
    rows = rows_of(open_source(path, X))
    assert [row.id for row in rows] == ["7", "1", "2"]
    assert rows[0].item == {"x": [1]}
    assert "no JSON" in rows[1].item.reason
    assert rows[2].item == [2]
    assert rows_of(open_source(path, X), 2) == rows[2:]


def test_arrow_files_and_tables(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    values = np.arange(1200, dtype=np.float32).reshape(600, 2)
    table = pa.table(
        {
            "id": [f"r{n}" for n in range(600)],
            "x": list(values),
            "n": np.arange(600),
            "t": pa.FixedShapeTensorArray.from_numpy_ndarray(
                np.arange(2400, dtype=np.float32).reshape(600, 2, 2)
            ),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=100)
    options = SourceOptions(("x", "t", "n"))
    for source in (open_source(tmp_path / "x.parquet", options), open_source(table, options)):
        rows = rows_of(source, 590)
        assert [row.id for row in rows] == [f"r{n}" for n in range(590, 600)]
        assert np.array_equal(rows[0].item["x"], values[590])
        assert rows[0].item["x"].dtype == np.float32
        assert rows[-1].item["t"].tolist() == [[2396, 2397], [2398, 2399]]
        assert rows[0].item["n"] == 590
        assert source.total == 600
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with pytest.raises((InvalidOptionError, ScoringSourceError), match=r"bad\.parquet"):
        open_source(tmp_path / "bad.parquet", options)


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for name in ("b", "a"):
        pq.write_table(pa.table({"x": [f"{name}{n}" for n in range(2)]}), tmp_path / f"{name}.parquet")
    assert [row.item["x"] for row in rows_of(open_source(tmp_path, X))] == ["a0", "a1", "b0", "b1"]


@pytest.mark.parametrize("kind", ["batch", "reader", "dataset", "frame"])
def test_tables_of_any_kind(kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.dataset

    class Frame:
        """A data frame by Arrow's protocol."""

        columns = ("id", "x")

        def __arrow_c_stream__(self, schema: Any = None) -> Any:
            return table.append_column("__index_level_0__", pa.array([5, 6])).__arrow_c_stream__(schema)

    table = pa.table({"id": ["a", "b"], "x": [1.0, 2.0]})
    given = {
        "batch": table.to_batches()[0],
        "reader": table.to_reader(),
        "dataset": pyarrow.dataset.dataset(table),
        "frame": Frame(),
    }[kind]
    source = open_source(given, SourceOptions(("x",), everything=True))
    for _ in range(2):  # a reader is read to its end, once
        assert [(row.id, row.item) for row in rows_of(source)] == [("a", {"x": 1.0}), ("b", {"x": 2.0})]


def test_a_column_by_arrow_s_protocol_is_an_iterable() -> None:
    class Series(list[Any]):
        def __arrow_c_stream__(self, schema: Any = None) -> Any:
            raise AssertionError

    assert [row.item for row in rows_of(open_source(Series([1.0, 2.0]), X))] == [1.0, 2.0]


def test_what_is_no_table_says_what_would_be(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": [1.0]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pq.ParquetFile(tmp_path / "x.parquet") as file:
        for source in (file, table.column("x"), pa.array([1.0]), pa.schema([])):
            name = type(source).__name__
            with pytest.raises(
                InvalidOptionError, match=rf"^source: got a pyarrow\.{name}.*, expected a pyarrow Table, R"
            ):
                open_source(source, X)


def test_columns_that_are_no_rows_are_refused_with_what_to_do() -> None:
    class Frame:
        columns = iloc = ("x",)

        def __iter__(self) -> Any:
            return iter(self.columns)

    with pytest.raises(
        InvalidOptionError, match=r"got dict, which is one row, or several columns; give \[it\]"
    ):
        open_source({"x": np.ones((3, 4))}, X)
    with pytest.raises(
        InvalidOptionError, match=r"got Frame, a data frame that .* give pyarrow\.Table\.from_pandas"
    ):
        open_source(Frame(), X)


def test_any_iterable_will_do() -> None:
    class Items:
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            return index * index

    rows = rows_of(open_source(Items(), X), 1)
    assert [(row.id, row.item) for row in rows] == [("1", 1), ("2", 4)]
    pairs = open_source(iter([("k", [1.0]), "a.jpg", [3.0]]), X)
    assert [(row.id, row.item) for row in rows_of(pairs)] == [("k", [1.0]), ("a.jpg", "a.jpg"), ("2", [3.0])]
    with pytest.raises(InvalidOptionError, match="got int"):
        open_source(3, X)


def test_what_an_iterable_raises_names_the_row() -> None:
    def items() -> Any:
        yield [1.0]
        raise RuntimeError("the database went away")

    with pytest.raises(ScoringSourceError, match="at row 1: RuntimeError: the database went away") as caught:
        rows_of(open_source(items(), X))
    assert caught.value.row == 1


def test_identities_are_plain_json(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("[1]\n")
    identity = open_source(tmp_path / "x.jsonl", X).identity()
    assert json.loads(json.dumps(identity)) == identity


def test_arrow_numbers_keep_their_type_beside_missing_ones_and_in_lists() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {
            "whole": pa.array([2**53 + 1, None], pa.int64()),
            "flags": pa.array([[True], None]),
            "deep": pa.array([[[1.0, 2.0]], [[3.0, None]]], pa.list_(pa.list_(pa.float64()))),
            "uneven": pa.array([[[1], [2, 3]], None], pa.list_(pa.list_(pa.int32()))),
        }
    )
    first, second = (row.item for row in rows_of(open_source(table, X)))
    assert isinstance(first["whole"], np.int64)
    assert int(first["whole"]) == 2**53 + 1
    assert first["flags"].dtype == bool
    assert first["deep"].dtype == np.float64
    assert first["deep"].tolist() == [[1.0, 2.0]]
    assert first["uneven"] == [[1], [2, 3]]
    assert second == {"whole": None, "flags": None, "deep": [[3.0, None]], "uneven": None}
