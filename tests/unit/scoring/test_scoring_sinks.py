"""Forms of output: what is in them, and that the same rows give the same bytes."""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ascend_infer as ai
from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.ranking import Column
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.sinks import open_sink
from ascend_infer.scoring.sinks.choice import form_of
from ascend_infer.types import DataType

COLUMNS = (
    Column("label_1", DataType.BYTES),
    Column("score_1", DataType.FP32),
    Column("v", DataType.FP32, (2,)),
    Column("m", DataType.INT32, (2, 2)),
    Column("open", DataType.FP64, (-1, 2)),
)
ROWS = [
    ScoredRow(
        0,
        "a",
        {
            "label_1": "cat, big",
            "score_1": float(np.float32(0.1)),
            "v": np.array([0.1, np.nan], np.float32),
            "m": np.array([[1, 2], [3, 4]], np.int32),
            "open": np.array([[1.5, 2.5]]),
        },
    ),
    ScoredRow(1, "b", {}, "damaged"),
    ScoredRow(
        2,
        "c",
        {
            "label_1": "ant",
            "score_1": 2.0,
            "v": np.array([1e-20, 3], np.float32),
            "m": np.zeros((2, 2), np.int32),
            "open": np.zeros((0, 2)),
        },
    ),
]


def written(
    form: str, folder: Path, rows: list[ScoredRow] = ROWS, columns: Any = COLUMNS, parts: int = 2
) -> Path:
    sink = open_sink(form, columns, numbered=False)
    paths = []
    for number in range(parts):
        path = folder / f"{form}-{number}{sink.suffix}"
        path.write_bytes(sink.encode_part(rows[2 * number : 2 * number + 2]))
        paths.append(str(path))
    target = folder / f"whole-{form}"
    sink.assemble(paths, str(target))
    return target


def test_csv(tmp_path: Path) -> None:
    with open(written("csv", tmp_path), newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["id", "label_1", "score_1", "v_0", "v_1", "m_0", "m_1", "m_2", "m_3", "open", "error"]
    assert lines[1] == ["a", "cat, big", "0.1", "0.1", "nan", "1", "2", "3", "4", "[[1.5, 2.5]]", ""]
    assert lines[2] == ["b", *[""] * 9, "damaged"]
    assert len(lines) == 4


def test_json_lines(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in written("jsonl", tmp_path).read_text().splitlines()]
    assert lines[0]["v"] == [0.1, "NaN"]
    assert lines[0]["m"] == [[1, 2], [3, 4]]
    assert lines[1] == {"id": "b", "error": "damaged"}
    assert lines[2]["open"] == []


def test_parquet(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    path = written("parquet", tmp_path)
    table = pq.read_table(path)
    assert table.column("id").to_pylist() == ["a", "b", "c"]
    assert table.column("error").to_pylist() == [None, "damaged", None]
    assert table.column("v").to_pylist()[2] == pytest.approx([1e-20, 3])
    assert table.column("v").to_pylist()[1] is None
    assert str(table.schema.field("m").type).startswith("extension<arrow.fixed_shape_tensor")
    assert table.column("m").to_pylist() == [[1, 2, 3, 4], None, [0, 0, 0, 0]]
    assert table.column("open").to_pylist() == [[1.5, 2.5], None, []]
    assert table.column("open_shape").to_pylist() == [[1, 2], None, [0, 2]]
    assert pq.ParquetFile(path).num_row_groups == 2


def test_npz_folder(tmp_path: Path) -> None:
    folder = written("npz", tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == [
        "rows-000000000000.npz",
        "rows-000000000002.npz",
    ]
    with np.load(folder / "rows-000000000000.npz") as part:
        assert part["id"].tolist() == ["a", "b"]
        assert part["error"].tolist() == ["", "damaged"]
        assert part["m"].tolist() == [[[1, 2], [3, 4]], [[0, 0], [0, 0]]]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "npz"])
def test_a_name_that_is_not_utf_8_is_written_as_text(tmp_path: Path, form: str) -> None:
    files = (b"caf\xe9", rb"caf\xe9", b"\\caf\xe9", rb"caf\ud800", rb"a\xb", "caf\u00e9".encode())
    names = [*map(os.fsdecode, files), "\ud800caf"]
    rows = [ScoredRow(0, name, ROWS[0].values, f"{name}: damaged") for name in names]
    sink = open_sink(form, COLUMNS, numbered=False)
    part, whole = tmp_path / f"part{sink.suffix}", tmp_path / "whole"
    part.write_bytes(sink.encode_part(rows))
    sink.assemble([str(part)], str(whole))
    if form == "npz":
        with np.load(whole / "rows-000000000000.npz") as saved:
            ids, errors = saved["id"].tolist(), saved["error"].tolist()
    elif form == "parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(whole)
        ids, errors = table.column("id").to_pylist(), table.column("error").to_pylist()
    else:
        lines = whole.read_text("utf-8").splitlines()
        records = list(csv.DictReader(lines)) if form == "csv" else [json.loads(line) for line in lines]
        ids, errors = [record["id"] for record in records], [record["error"] for record in records]
    assert ids == [
        r"caf\xe9", r"caf\x5cxe9", r"\caf\xe9", r"caf\x5cud800", r"a\xb", "caf\u00e9", r"\ud800caf",
    ]  # fmt: skip
    assert errors[0] == r"caf\xe9: damaged"


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_texts_of_the_caller_s_that_are_not_utf_8(tmp_path: Path, form: str) -> None:
    rows = [ScoredRow(0, "a", {"text": os.fsdecode(b"\xff"), "texts": [os.fsdecode(b"\xfe")]})]
    whole = written(form, tmp_path, rows, None, parts=1)
    if form == "parquet":
        found = pytest.importorskip("pyarrow.parquet").read_table(whole).to_pylist()[0]
        assert (found["text"], found["texts"]) == (r"\xff", [r"\xfe"])
    else:
        found = whole.read_text("utf-8").splitlines()[-1].replace(r"\\", "\\")
        assert r"\xff" in found
        assert r"\xfe" in found


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "npz"])
def test_the_same_rows_give_the_same_bytes(tmp_path: Path, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    found = []
    for name in "ab":
        (tmp_path / name).mkdir()
        path = written(form, tmp_path / name)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        found.append([file.read_bytes() for file in files])
    assert found[0] == found[1]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "npz"])
def test_no_rows_are_an_output_too(tmp_path: Path, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    path = written(form, tmp_path, [], parts=1)
    assert path.exists()


OWN = [
    ScoredRow(0, "a", {"best": 1, "where": np.array([1.0, 2.0])}),
    ScoredRow(1, "b", {"best": 2, "where": np.array([1.0, 2.0])}),
    ScoredRow(2, "c", {"best": 2.5, "note": "late"}),
]


def test_columns_that_differ_between_parts_are_put_under_all_of_them(tmp_path: Path) -> None:
    with open(written("csv", tmp_path, OWN, None), newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["id", "best", "where", "note", "error"]
    assert lines[1] == ["a", "1", "[1.0, 2.0]", "", ""]
    assert lines[3] == ["c", "2.5", "", "late", ""]


def test_parquet_types_that_differ_between_parts_are_widened(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(written("parquet", tmp_path, OWN, None))
    assert table.column_names == ["id", "best", "where", "note", "error"]
    assert table.column("best").to_pylist() == [1.0, 2.0, 2.5]
    assert table.column("where").to_pylist() == [[1.0, 2.0], [1.0, 2.0], None]


class Own:
    """No form has a place for it."""


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "npz"])
@pytest.mark.parametrize(
    "value",
    [
        Own(),
        [1, Own()],
        {"a": {"b": Own()}},
        {("a",): 1},
        np.array([Own()]),
        np.array([{"a", b"b"}], object),
    ],
)
def test_an_object_that_has_no_text_fails_its_row_and_no_other(
    session: ai.Session, tmp_path: Path, form: str, value: Any
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")

    def made(arrays: dict[str, Any]) -> Any:
        return {"v": value if arrays["y"][0] == 2 else [1]}

    rows = [np.full(4, number, np.float32) for number in range(3)]
    done = session.score(rows, out=tmp_path / f"y.{form}", form=form, postprocess=made)
    assert (done.rows, done.failed) == (3, 1)
    [(name, reason)] = done.first_errors
    assert name == "1"
    assert reason.startswith("postprocess: column 'v': got ")
    assert form == "parquet" or " at 0x" not in reason


def test_what_has_a_text_is_written(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "day": dt.date(2024, 2, 29),
        "at": dt.datetime(2024, 2, 29, 1, 2, 3),
        "ns": np.datetime64(1, "ns"),
        "took": dt.timedelta(seconds=90),
        "price": Decimal("1.10"),
        "path": Path("a/b"),
        "bytes": b"ab",
        "pair": 1 + 2j,
        "days": np.array(["2024-02-29"], "M8[D]"),
        "raw": np.array([b"ab"]),
        "uneven": [[1], [2, dt.date(2024, 1, 1)]],
        "map": {"a": np.float32(0.1), 2: [None]},
    }
    rows = [ScoredRow(0, "a", values)]
    texts = {
        "day": "2024-02-29",
        "at": "2024-02-29 01:02:03",
        "ns": "1970-01-01T00:00:00.000000001",
        "took": "0:01:30",
        "price": "1.10",
        "path": "a/b",
        "bytes": "ab",
    }
    rest = {
        "pair": [1.0, 2.0],
        "days": ["2024-02-29"],
        "raw": ["ab"],
        "uneven": [[1], [2, "2024-01-01"]],
        "map": {"a": 0.1, "2": [None]},
    }
    for form in ("csv", "jsonl", "npz"):
        fit = open_sink(form, None, numbered=False).fitting([])
        assert fit is not None
        assert fit(rows) == rows
    [line] = written("jsonl", tmp_path, rows, None, parts=1).read_text().splitlines()
    assert json.loads(line) == {"id": "a", **texts, **rest}
    with open(written("csv", tmp_path, rows, None, parts=1), newline="") as file:
        [found] = csv.DictReader(file)
    assert {name: found[name] for name in texts} == texts
    assert {name: json.loads(found[name]) for name in rest} == rest
    with np.load(next(written("npz", tmp_path, rows, None, parts=1).iterdir())) as part:
        assert {name: str(part[name][0]) for name in ("day", "took", "price", "path")} == {
            name: texts[name] for name in ("day", "took", "price", "path")
        }
        assert part["ns"].dtype == "M8[ns]"
        assert json.loads(str(part["uneven"][0])) == rest["uneven"]
        assert json.loads(str(part["map"][0])) == rest["map"]


def test_what_forms_there_are() -> None:
    assert form_of("a/b.PARQUET", None) == "parquet"
    assert form_of("folder/", None) == "npz"
    assert form_of("scores.txt", "csv") == "csv"
    with pytest.raises(InvalidOptionError, match=r"ends in \.parquet, \.csv or \.jsonl"):
        form_of("scores.txt", None)
    with pytest.raises(InvalidOptionError, match="one of parquet"):
        form_of("scores.txt", "xml")
    with pytest.raises(InvalidOptionError, match="two columns of the CSV would be called 'v_0'"):
        open_sink("csv", [Column("v_0", DataType.FP32), Column("v", DataType.FP32, (2,))], numbered=True)
