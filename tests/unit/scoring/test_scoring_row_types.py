"""Values of a function of the caller's that do not go into one Parquet column fail their rows, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ascend_infer as ai
from ascend_infer.errors import ScoringOutputError
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.sinks.parquet_file import ParquetSink

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LARGE = 2**60 + 1
VALUES: list[list[Any]] = [
    [1, 2.5, None, 3],
    [1, "x", 2, b"y"],
    [None, "x", 1, "y"],
    [True, 1, False],
    [LARGE, 0.5, 1],
    [0.5, LARGE, 1, 2**70],
    [[1], [2.5], ["x"], [[3]]],
    [np.ones(2, np.float32), np.ones(2), np.ones(2, np.int8), np.ones((2, 2))],
    [np.array([2**63], np.uint64), np.array([1]), np.array([2], np.uint64)],
    [{"a": 1}, {"b": "x"}, {"a": "x"}],
    [object(), 1, {1, 2}],
]
EXPECTED = ["....", ".x.x", "..x.", ".x.", ".x.", ".x.x", "..xx", "...x", ".x.", "..x", "x.x"]


def rows_of(values: list[Any]) -> list[ScoredRow]:
    return [ScoredRow(index, str(index), {"v": value}) for index, value in enumerate(values)]


@pytest.mark.parametrize(("values", "expected"), list(zip(VALUES, EXPECTED, strict=True)))
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("resumed", [False, True])
def test_which_rows_fit_does_not_depend_on_pieces(
    values: list[Any], expected: str, size: int, resumed: bool, tmp_path: Path
) -> None:
    sink = ParquetSink(None, numbered=False)
    fit = sink.fitting([])
    assert fit is not None
    rows, parts, fitted = rows_of(values), [], []
    for first in range(0, len(rows), size):
        kept = fit(rows[first : first + size])
        fitted += kept
        parts.append(str(tmp_path / f"{first}.arrow"))
        Path(parts[-1]).write_bytes(sink.encode_part(kept))
        if resumed:
            fit = sink.fitting(parts)
            assert fit is not None
    assert "".join("x" if row.error else "." for row in fitted) == expected
    assert all("postprocess: column 'v': got " in row.error for row in fitted if row.error)
    sink.assemble(parts, str(tmp_path / "whole.parquet"))
    found = pq.read_table(tmp_path / "whole.parquet").to_pylist()
    assert [bool(row["error"]) for row in found] == [mark == "x" for mark in expected]


def test_a_run_with_values_of_several_types_ends_and_says_which_rows(
    session: ai.Session, tmp_path: Path
) -> None:
    def made(arrays: dict[str, Any]) -> Any:
        return 1 if arrays["y"][0] < 6 else "x"

    rows = [np.full(4, number, np.float32) for number in range(6)]
    done = session.score(rows, out=tmp_path / "y.parquet", postprocess=made, part_rows=3)
    assert done.failed == 3
    assert done.first_errors[0][0] == "3"
    assert "column 'result': got 'x', expected int64 as in the rows before" in done.first_errors[0][1]
    assert pq.read_table(tmp_path / "y.parquet").column("result").to_pylist() == [1, 1, 1, None, None, None]


def test_parts_of_no_common_type_name_the_part(tmp_path: Path) -> None:
    sink = ParquetSink(None, numbered=False)
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    for path, value in zip(paths, (1, "x"), strict=True):
        Path(path).write_bytes(sink.encode_part(rows_of([value])))
    with pytest.raises(ScoringOutputError, match="no type in common.*--restart"):
        sink.assemble(paths, str(tmp_path / "whole"))
    with pytest.raises(ScoringOutputError, match="no type in common.*--restart"):
        sink.fitting(paths)
