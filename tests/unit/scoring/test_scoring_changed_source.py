"""A source that is not what it was is told by what is in it, by its names, or while it is read."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ascend_infer as ai
from ascend_infer.errors import InvalidOptionError, ResumeError, ScoringSourceError

pa = pytest.importorskip("pyarrow")


def table(value: float, rows: int = 5) -> Any:
    return pa.table({"x": pa.array([[value] * 4] * rows, pa.list_(pa.float32()))})


def test_another_table_in_memory_is_another_source(session: ai.Session, tmp_path: Path) -> None:
    out = tmp_path / "y.csv"
    session.score(table(1), out=out)
    assert session.score(table(1), out=out).resumed_rows == 5
    joined = pa.concat_tables([table(0), table(1)])
    assert session.score(joined.slice(5), out=out).resumed_rows == 5
    with pytest.raises(ResumeError, match="source.content: was"):
        session.score(table(2), out=out)


def test_another_part_of_a_data_set_is_another_source(session: ai.Session, tmp_path: Path) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet = pytest.importorskip("pyarrow.parquet")
    out, file = tmp_path / "y.csv", tmp_path / "x.parquet"
    parquet.write_table(table(0), file)

    def joined(value: float) -> Any:
        return dataset.dataset([dataset.dataset(file), dataset.dataset(table(value))])

    session.score(joined(1), out=out)
    assert session.score(joined(1), out=out).resumed_rows == 10
    with pytest.raises(ResumeError, match="source.content: was"):
        session.score(joined(2), out=out)
    parquet.write_table(table(0, 6), file)
    with pytest.raises(ResumeError, match="source.digest: was"):
        session.score(joined(1), out=out)


def test_another_filter_is_another_source(session: ai.Session, tmp_path: Path) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    whole = dataset.dataset(table(1).append_column("n", pa.array(range(5))))
    field = dataset.field("n")
    session.score(whole.filter(field < 2), out=tmp_path / "y.csv")
    with pytest.raises(ResumeError, match="source.filter: was"):
        session.score(whole.filter(field >= 3), out=tmp_path / "y.csv")


def test_a_data_set_of_an_unknown_kind_is_not_known_by_its_identity() -> None:
    from ascend_infer.scoring.sources.arrow_content import ArrowContent

    assert not ArrowContent(SimpleNamespace()).known


def named(*names: str, value: float = 1) -> list[Any]:
    return [(name, [value] * 4) for name in names]


def test_a_finished_output_is_not_that_of_rows_with_other_names(session: ai.Session, tmp_path: Path) -> None:
    out = tmp_path / "y.csv"
    session.score(named("a", "b", "c"), out=out, batch=1, part_rows=2)
    assert session.score(named("a", "b", "c"), out=out).resumed_rows == 3
    with pytest.raises(ResumeError, match="was made otherwise") as caught:
        session.score(named("a", "b", "d"), out=out)
    assert caught.value.changes == ("source: its rows have other names",)
    assert session.score(named("a", "b", "d"), out=out, overwrite=True).resumed_rows == 0


def test_a_finished_output_is_not_that_of_more_or_fewer_rows(session: ai.Session, tmp_path: Path) -> None:
    out = tmp_path / "y.csv"
    session.score(iter(named("a", "b", "c")), out=out, batch=1, part_rows=2)
    for names in ("ab", "abcd"):
        with pytest.raises(ResumeError, match=f"source: was 3 rows, is {len(names)}"):
            session.score(iter(named(*names)), out=out)


@pytest.mark.parametrize("rows", [[[1] * 4, [2] * 4], [(0, [1] * 4), (1, [2] * 4)]])
def test_a_finished_output_is_not_that_of_rows_without_names(
    session: ai.Session, tmp_path: Path, rows: list[Any]
) -> None:
    out = tmp_path / "y.csv"
    session.score(rows, out=out)
    before = out.read_bytes()
    with pytest.raises(InvalidOptionError, match="is there already, made of 2 rows without names.*overwrite"):
        session.score(rows[::-1], out=out)
    assert out.read_bytes() == before
    session.score(rows[::-1], out=out, overwrite=True)
    assert out.read_bytes() != before


def test_nothing_is_nothing_again(session: ai.Session, tmp_path: Path) -> None:
    for _ in range(2):
        assert session.score(iter([]), out=tmp_path / "y.csv").rows == 0
    with pytest.raises(ResumeError, match="source: was 0 rows, is 1"):
        session.score(iter(named("a")), out=tmp_path / "y.csv")


def records(path: Path, count: int = 40) -> Path:
    if path.suffix == ".csv":
        path.write_text("id,x\n" + "".join(f'k{n},"[{n}, 0, 0, 0]"\n' for n in range(count)))
    else:
        path.write_text("".join(f'{{"id": "k{n}", "x": [{n}, 0, 0, 0]}}\n' for n in range(count)))
    return path


class Changing:
    """A preprocess that changes the file at the first row."""

    def __init__(self, path: Path, change: Any) -> None:
        self.path, self.change, self.done = path, change, False

    def __call__(self, item: Any) -> Any:
        if not self.done:
            self.done = True
            self.change(self.path)
        return np.zeros(4, np.float32)


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
@pytest.mark.parametrize("part_rows", [100, 1024])
def test_a_file_that_is_cut_short_while_it_is_read(
    session: ai.Session, tmp_path: Path, name: str, part_rows: int
) -> None:
    file, out = records(tmp_path / name, 2000), tmp_path / "y.csv"
    begun = file.stat()
    cut = Changing(file, lambda path: os.truncate(path, begun.st_size // 2))
    with pytest.raises(
        ScoringSourceError, match=rf"{name} at row \d+: it was changed.*it was \d+ bytes"
    ) as end:
        session.score(file, out=out, preprocess=cut, batch=1, part_rows=part_rows, workers=1)
    assert end.value.row is not None
    assert not out.exists()
    records(file, 2000)
    os.utime(file, ns=(begun.st_atime_ns, begun.st_mtime_ns))
    assert session.score(file, out=out, preprocess=cut, batch=1, part_rows=part_rows).rows == 2000


def test_a_file_that_is_written_again_while_it_is_read(session: ai.Session, tmp_path: Path) -> None:
    file, out = records(tmp_path / "x.csv"), tmp_path / "y.csv"
    again = Changing(file, lambda path: os.utime(path, ns=(1, 1)))
    with pytest.raises(ScoringSourceError, match="it was written again"):
        session.score(file, out=out, preprocess=again, batch=1, part_rows=10)
    assert not list(tmp_path.glob("y.csv.parts/part-*"))
    with pytest.raises(ResumeError, match="source.modified_ns: was"):
        session.score(file, out=out, preprocess=again, batch=1, part_rows=10)
    rows: list[Any] = []
    gone = Changing(file, lambda path: path.unlink())
    with pytest.raises(ScoringSourceError, match="at row 40: it was changed.*it is gone"):
        session.score(file, out=rows.append, preprocess=gone)
