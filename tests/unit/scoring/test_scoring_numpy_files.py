"""Rows of numpy's files: read in pieces from any row, and what is cut off, damaged or none of them."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_infer.errors import InvalidOptionError, ScoringSourceError
from ascend_infer.scoring.rows import Row
from ascend_infer.scoring.sources import SourceOptions, open_source

X = SourceOptions(("x",))


def rows_of(source: Any, start: int = 0) -> list[Row]:
    return list(source.rows(start))


def test_an_npy_file_is_read_in_pieces_from_any_row(tmp_path: Path) -> None:
    array = np.arange(300_000, dtype=np.float32).reshape(-1, 3)
    np.save(tmp_path / "x.npy", array)
    source = open_source(tmp_path / "x.npy", X)
    rows = rows_of(source, 99_990)
    assert [row.id for row in rows] == list(range(99_990, 100_000))
    assert all(np.array_equal(row.item["x"], array[row.index]) for row in rows)
    assert source.numbered


def test_a_cut_off_npy_file_names_the_row(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((10, 4), np.float32))
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:-1])
    with pytest.raises(ScoringSourceError, match="at row 0: the file ends here, 10 rows"):
        rows_of(open_source(tmp_path / "x.npy", X))


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.array([{}]), "Python objects"),
        (np.float32(3), "single value"),
        (np.asfortranarray(np.ones((3, 2), np.float32)), "column order"),
    ],
)
def test_npy_files_that_cannot_be_streamed_are_refused(tmp_path: Path, array: Any, problem: str) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(InvalidOptionError, match=problem):
        open_source(tmp_path / "x.npy", X)


@pytest.mark.parametrize(
    ("place", "content"),
    [
        (8, b"\xff\xff"),  # a length that no header has
        (8, b"\x01\x00"),
        (10, b"\xff" * 40),
        (10, b"(" * 110),
        (10, b"{'descr': '<f4', 'fortran_order': False, 'shape': (-10, 4), }"),
        (10, b"{'descr': {'a': []}, 'fortran_order': False, 'shape': (10, 4), }"),
    ],
)
@pytest.mark.parametrize("archive", [False, True])
def test_a_damaged_header_is_said_to_be_one(
    tmp_path: Path, place: int, content: bytes, archive: bool
) -> None:
    np.save(tmp_path / "x.npy", np.zeros((10_000, 4), np.float32))
    data = bytearray((tmp_path / "x.npy").read_bytes())
    data[place : place + len(content)] = content
    name = "x.npz" if archive else "x.npy"
    if archive:
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr("x.npy", bytes(data))
    else:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InvalidOptionError, match="the header of x is damaged") as caught:
        open_source(tmp_path / name, X)
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_feeds_inputs_by_name_and_may_name_its_rows(tmp_path: Path, save: Any) -> None:
    a, b = np.arange(8).reshape(4, 2), np.arange(4.0)
    save(tmp_path / "x.npz", a=a, b=b, other=np.zeros(9), ids=np.array(["p", "q", "r", "s"]))
    source = open_source(tmp_path / "x.npz", SourceOptions(("a", "b")))
    [row] = rows_of(source, 3)
    assert row.id == "s"
    assert row.item["a"].tolist() == [6, 7]
    assert row.item["b"] == 3.0
    assert not source.numbered
    with pytest.raises(
        InvalidOptionError, match="has members a, b, other, ids, expected the model's inputs x, y"
    ):
        open_source(tmp_path / "x.npz", SourceOptions(("x", "y")))


@pytest.mark.parametrize("name", ["id", "ids"])
def test_an_npz_of_an_input_that_is_called_as_names_are(tmp_path: Path, name: str) -> None:
    other = {"id": "ids", "ids": "id"}[name]
    for more, expected in (({}, 1), ({other: np.array(["p", "q"])}, "q")):
        np.savez(tmp_path / "x.npz", **{name: np.arange(4).reshape(2, 2)}, **more)
        source = open_source(tmp_path / "x.npz", SourceOptions((name,)))
        [row] = rows_of(source, 1)
        assert row.id == expected
        assert source.numbered == (not more)
        assert {key: value.tolist() for key, value in row.item.items()} == {name: [2, 3]}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_that_becomes_shorter_names_the_row(tmp_path: Path, save: Any) -> None:
    path = tmp_path / "x.npz"
    save(path, x=np.random.default_rng(1).random((200_000, 4), np.float32))
    source = open_source(path, X)
    rows = source.rows(0)
    next(rows)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(
        ScoringSourceError, match=r"at row \d+: the file ends here, 200000 rows were expected"
    ):
        list(rows)


def test_an_npz_whose_bytes_are_others_names_the_row(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.random.default_rng(1).random((200_000, 4), np.float32))
    source = open_source(path, X)
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 1000)
    for start in (0, 150_000):
        with pytest.raises(ScoringSourceError, match=r"at row \d+: it is damaged: "):
            rows_of(source, start)
