"""A run that replaces an output, or throws away what was begun, and is interrupted itself."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ascend_infer as ai
from ascend_infer.errors import ResumeError, ScoringOutputError
from ascend_infer.scoring import durable

LAYOUT: dict[str, Any] = {"batch": 2, "part_rows": 10, "workers": 1}


class Prepare:
    """Stops at a row as Ctrl-C does, once it is told one."""

    stop_at: float = -1

    def __call__(self, item: Any) -> Any:
        if item["x"][0] == self.stop_at:
            raise KeyboardInterrupt
        return item["x"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.npy"
    write(path)
    return path


def write(path: Path, value: float = 0) -> None:
    rows = np.full((60, 4), value, np.float32)
    rows[:, 0] = np.arange(60)
    np.save(path, rows)


def interrupted(session: ai.Session, prepare: Prepare, source: Any, out: Path, **options: Any) -> str:
    prepare.stop_at = 35
    with pytest.raises(KeyboardInterrupt) as caught:
        session.score(source, out=out, preprocess=prepare, **LAYOUT, **options)
    prepare.stop_at = -1
    return str(caught.value.__notes__[0])


def test_an_interrupted_overwrite_is_gone_on_with_by_the_same_call(
    session: ai.Session, file: Path, tmp_path: Path
) -> None:
    out, prepare = tmp_path / "y.csv", Prepare()
    session.score(file, out=out, preprocess=prepare, **LAYOUT)
    before = out.read_bytes()
    for _ in range(2):  # a finished overwrite is done again, and may be interrupted again
        note = interrupted(session, prepare, file, out, overwrite=True)
        assert note.endswith("y.csv.parts; the same call goes on from there")
        assert out.read_bytes() == before
        done = session.score(file, out=out, preprocess=prepare, overwrite=True, **LAYOUT)
        assert (done.rows, done.resumed_rows) == (60, 30)
        assert out.read_bytes() == before
    assert session.score(file, out=out, preprocess=prepare, overwrite=True, **LAYOUT).resumed_rows == 0


def test_an_interrupted_overwrite_of_something_else_begins_anew(
    session: ai.Session, file: Path, tmp_path: Path
) -> None:
    out, prepare = tmp_path / "y.csv", Prepare()
    interrupted(session, prepare, file, out, overwrite=True)
    write(file, 1)
    assert session.score(file, out=out, preprocess=prepare, overwrite=True, **LAYOUT).resumed_rows == 0
    interrupted(session, prepare, file, out, overwrite=True)
    Path(f"{out}.manifest.json").write_text("{")
    assert session.score(file, out=out, preprocess=prepare, overwrite=True, **LAYOUT).resumed_rows == 0


def test_an_overwrite_does_not_go_on_with_a_run_that_was_none(
    session: ai.Session, file: Path, tmp_path: Path
) -> None:
    out, prepare = tmp_path / "y.csv", Prepare()
    interrupted(session, prepare, file, out)
    assert session.score(file, out=out, preprocess=prepare, overwrite=True, **LAYOUT).resumed_rows == 0


def test_an_interrupted_restart_says_which_call_goes_on(
    session: ai.Session, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, prepare = tmp_path / "y.csv", Prepare()
    note = interrupted(session, prepare, file, out, resume=False)
    assert note.endswith("; the same call without resume=False (--restart) goes on from there")
    assert session.score(file, out=out, preprocess=prepare, **LAYOUT).resumed_rows == 30
    interrupted(session, prepare, file, out, resume=False, overwrite=True)
    again = interrupted(session, prepare, file, out, resume=False, overwrite=True)
    assert again.startswith("30 of 60 rows")
    assert session.score(file, out=out, preprocess=prepare, overwrite=True, **LAYOUT).resumed_rows == 30

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable.os, "fsync", full)
    with pytest.raises(ScoringOutputError, match=r"the same call without resume=False \(--restart\) goes on"):
        session.score(file, out=tmp_path / "z.csv", resume=False)


def test_an_interrupted_overwrite_of_an_iterable_says_which_call_goes_on(
    session: ai.Session, tmp_path: Path
) -> None:
    out, prepare = tmp_path / "y.csv", Prepare()
    rows = [{"x": np.full(4, n, np.float32)} for n in range(60)]
    note = interrupted(session, prepare, rows, out, overwrite=True)
    assert note.endswith("; the same call without overwrite=True goes on from there")
    with pytest.raises(ResumeError, match="source.rows: was 60, is 50"):
        session.score(rows[:50], out=out, preprocess=prepare)
    interrupted(session, prepare, rows, out, overwrite=True)
    assert session.score(rows, out=out, preprocess=prepare).resumed_rows == 30
    interrupted(session, prepare, rows, out, overwrite=True)
    assert session.score(rows, out=out, preprocess=prepare, overwrite=True).resumed_rows == 0
