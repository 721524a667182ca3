"""A source that is not what it was is told by what is in it, by its names, or while it is read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ascend_infer as ai
from ascend_infer.errors import ResumeError

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
