"""A run that ended early goes on; one that is not the same any more is refused, with what changed."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from photos import colours_directory, photo_folder

import ascend_infer as ai
from ascend_infer.errors import (
    InvalidOptionError,
    ResumeError,
    ScoringError,
    ScoringOutputError,
    ScoringSourceError,
)
from ascend_infer.scoring import durable
from ascend_infer.scoring.parts import PartStore

LAYOUT: dict[str, Any] = {"batch": 2, "part_rows": 10}


class Items:
    """Rows that stop coming once, at a chosen one."""

    def __init__(self, count: int, fail_at: int | None = None, shift: int = 0, name: str = "k") -> None:
        self._count, self._fail_at, self._shift, self._name = count, fail_at, shift, name

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        for n in range(self._count):
            if n == self._fail_at:
                raise OSError(errno.EIO, "the disk is gone")
            yield f"{self._name}{n + self._shift}", [n, 0, 0, 0]


def begun(session: ai.Session, out: Path) -> None:
    with pytest.raises(ScoringSourceError, match="at row 35"):
        session.score(Items(60, fail_at=35), out=out, **LAYOUT)
    assert not out.exists()
    assert len(list(out.parent.glob(f"{out.name}.parts/part-*.csv"))) == 3


def test_it_goes_on_where_it_was(session: ai.Session, tmp_path: Path) -> None:
    session.score(Items(60), out=tmp_path / "whole.csv", **LAYOUT)
    begun(session, tmp_path / "y.csv")
    done = session.score(Items(60), out=tmp_path / "y.csv")
    assert (done.rows, done.resumed_rows, done.batch) == (60, 30, 2)
    assert (tmp_path / "y.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not (tmp_path / "y.csv.parts").exists()
    manifest = json.loads((tmp_path / "y.csv.manifest.json").read_text())
    assert manifest["state"] == "complete"
    assert manifest["model"]["version"] == 2
    assert set(manifest["model"]["content"]) == {"2/model.onnx", "config.pbtxt", "labels.txt"}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", [os.fsdecode(b"caf\xe9 "), "\ud800"])
def test_it_goes_on_with_names_that_are_not_utf_8(
    session: ai.Session, tmp_path: Path, form: str, name: str
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    whole, out = tmp_path / f"whole.{form}", tmp_path / os.fsdecode(b"halves\xff." + form.encode())
    session.score(Items(60, name=name), out=whole, **LAYOUT)
    with pytest.raises(ScoringSourceError):
        session.score(Items(60, fail_at=35, name=name), out=out, **LAYOUT)
    summary = session.score(Items(60, name=name), out=out, **LAYOUT)
    assert (summary.rows, summary.resumed_rows) == (60, 30)
    assert out.read_bytes() == whole.read_bytes()


def test_parts_that_were_rounded_up_to_whole_batches_are_the_same_parts(
    session: ai.Session, tmp_path: Path
) -> None:
    out, layout = tmp_path / "y.csv", {"batch": 4, "part_rows": 10}
    with pytest.raises(ScoringSourceError, match="at row 35"):
        session.score(Items(60, fail_at=35), out=out, **layout)
    with pytest.raises(ResumeError, match="part_rows: was 12, is 13"):
        session.score(Items(60), out=out, batch=4, part_rows=13)
    for _ in range(2):  # the second one finds it finished
        done = session.score(Items(60), out=out, **layout)
        assert (done.rows, done.part_rows) == (60, 12)


def test_parts_are_the_same_whatever_threads_take_at_a_time(session: ai.Session, tmp_path: Path) -> None:
    out = tmp_path / "y.csv"
    with pytest.raises(ScoringSourceError, match="at row 635"):
        session.score(
            Items(1000, fail_at=635), out=out, batch=1, workers=2, part_rows=10
        )  # four rows at a time
    parts = sorted(Path(f"{out}.parts").glob("part-*.json"))
    assert {json.loads(part.read_text())["rows"] for part in parts} == {10}
    done = session.score(Items(1000), out=out, batch=1, workers=9, part_rows=10)
    assert (done.rows, done.resumed_rows) == (1000, 10 * len(parts))
    session.score(Items(1000), out=tmp_path / "whole.csv", batch=1, part_rows=10)
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_reasons_of_earlier_runs_are_in_the_summary(session: ai.Session, tmp_path: Path) -> None:
    class Some(Items):
        def __iter__(self) -> Iterator[Any]:
            for name, item in super().__iter__():
                yield name, "bad" if item[0] in (3, 4, 12, 41) else item

    out = tmp_path / "y.csv"
    with pytest.raises(ScoringSourceError):
        session.score(Some(60, fail_at=35), out=out, preprocess=_numbers, **LAYOUT)
    for earlier in (30, 60):  # the second one finds it finished
        done = session.score(Some(60), out=out, preprocess=_numbers, **LAYOUT)
        assert (done.failed, done.resumed_rows) == (4, earlier)
        assert [name for name, _ in done.first_errors] == ["k3", "k4", "k12", "k41"]
        assert done.first_errors[0][1] == "preprocess: TypeError: no numbers: bad"
        assert json.loads(json.dumps(done.to_dict()))["first_errors"]


def _numbers(item: Any) -> Any:
    if isinstance(item, str):
        raise TypeError(f"no numbers: {item}")
    return item


def test_a_finished_run_is_not_run_again(session: ai.Session, tmp_path: Path) -> None:
    out = tmp_path / "y.csv"
    session.score(Items(60), out=out, **LAYOUT)
    before = out.stat()
    done = session.score(Items(60), out=out)
    assert (done.rows, done.resumed_rows, done.runs) == (60, 60, 0)
    assert out.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(InvalidOptionError, match="is there already; give another name"):
        session.score(Items(60), out=out, resume=False)
    with pytest.raises(
        ResumeError, match="was made otherwise.*\n.*options.top_k: was not there, is 1"
    ) as caught:
        session.score(Items(60), out=out, top_k=1)
    assert caught.value.changes == ("options.top_k: was not there, is 1",)
    assert session.score(Items(60), out=out, top_k=1, overwrite=True).resumed_rows == 0
    out.unlink()
    assert session.score(Items(60), out=out, top_k=1).resumed_rows == 0


def test_a_file_of_somebody_else_is_left_alone(session: ai.Session, tmp_path: Path) -> None:
    out = tmp_path / "y.csv"
    out.write_text("mine")
    with pytest.raises(InvalidOptionError, match="is there already and no scoring run's"):
        session.score(Items(3), out=out)
    assert out.read_text() == "mine"
    assert not (tmp_path / "y.csv.parts").exists()
    session.score(Items(3), out=out, overwrite=True)
    assert out.read_text() != "mine"
    out.write_text("changed since")
    with pytest.raises(ResumeError, match="the output: was"):
        session.score(Items(3), out=out)


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({"top_k": 2}, "options.top_k: was not there, is 2"),
        ({"batch": 4}, "batch: was 2, is 4"),
        ({"part_rows": 20}, "part_rows: was 10, is 20"),
        ({"form": "jsonl"}, 'form.form: was "csv", is "jsonl"'),
    ],
)
def test_other_options_are_refused(session: ai.Session, tmp_path: Path, options: Any, change: str) -> None:
    begun(session, tmp_path / "y.csv")
    with pytest.raises(ResumeError, match="(?s)was begun otherwise.*resume=False") as caught:
        session.score(Items(60), out=tmp_path / "y.csv", **options)
    assert change in caught.value.changes
    assert session.score(Items(60), out=tmp_path / "y.csv", resume=False, **options).resumed_rows == 0


def test_another_model_is_refused(session: ai.Session, tmp_path: Path) -> None:
    begun(session, tmp_path / "y.csv")
    with (
        ai.Session(session.path, version=1, device="cpu", threads=1) as other,
        pytest.raises(ResumeError, match=r"model.version: was 2, is 1") as caught,
    ):
        other.score(Items(60), out=tmp_path / "y.csv")
    assert any(change.startswith("model.content.2/model.onnx: was") for change in caught.value.changes)
    with (Path(session.path) / "labels.txt").open("a") as file:
        file.write("emu\n")
    with (
        ai.Session(session.path, device="cpu", threads=1) as anew,
        pytest.raises(ResumeError, match=r"model\.content\.labels\.txt"),
    ):
        anew.score(Items(60), out=tmp_path / "y.csv")


def test_other_rows_are_refused(session: ai.Session, tmp_path: Path) -> None:
    begun(session, tmp_path / "y.csv")
    with pytest.raises(ResumeError, match="rows 0 to 9 have other names"):
        session.score(Items(60, shift=1), out=tmp_path / "y.csv")
    with pytest.raises(ResumeError, match="source.rows: was 60, is 61"):
        session.score(Items(61), out=tmp_path / "y.csv")


def test_a_changed_folder_is_refused_by_name(tmp_path: Path) -> None:
    folder = photo_folder(tmp_path, 8)
    with ai.Session(colours_directory(tmp_path), device="cpu") as session:
        (folder / "0003.jpg").write_bytes(b"bad")
        with pytest.raises(ScoringError, match="max_errors=0"):
            session.score(folder, out=tmp_path / "y.csv", max_errors=0, batch=1, part_rows=2)
        (folder / "0001.jpg").unlink()
        (folder / "new.jpg").write_bytes(b"x")
        with pytest.raises(ResumeError) as caught:
            session.score(folder, out=tmp_path / "y.csv")
    assert "source: 1 files are new: new.jpg" in caught.value.changes
    assert "source: 1 files are gone: 0001.jpg" in caught.value.changes


def test_a_full_disk_ends_the_run_and_keeps_what_is_there(
    session: ai.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync
    count = 0

    def full(number: int) -> None:
        nonlocal count
        count += 1
        if count == 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(number)

    monkeypatch.setattr(durable.os, "fsync", full)
    with pytest.raises(
        ScoringOutputError, match=r"rows from \d+ on.*No space left on device; what was written"
    ) as caught:
        session.score(Items(60), out=tmp_path / "y.csv", **LAYOUT)
    assert caught.value.row is not None
    monkeypatch.undo()
    assert not list(tmp_path.glob("y.csv.parts/*.tmp"))
    assert session.score(Items(60), out=tmp_path / "y.csv").resumed_rows == caught.value.row > 0
    session.score(Items(60), out=tmp_path / "z.csv", **LAYOUT)
    assert (tmp_path / "y.csv").read_bytes() == (tmp_path / "z.csv").read_bytes()


def test_where_nothing_can_be_written(
    session: ai.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidOptionError, match="which is no folder; make it first"):
        session.score(Items(3), out=tmp_path / "none" / "y.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidOptionError, match="is not a file"):
        session.score(Items(3), out=tmp_path / "folder.csv")

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("ascend_infer.scoring.parts.os.makedirs", refuse)
    with pytest.raises(ScoringOutputError, match="Read-only file system"):
        session.score(Items(3), out=tmp_path / "y.csv")


def test_a_damaged_part_is_named_with_what_to_do(session: ai.Session, tmp_path: Path) -> None:
    out = tmp_path / "y.csv"
    begun(session, out)
    part = tmp_path / "y.csv.parts" / "part-00000001.csv"
    content = part.read_bytes()
    part.write_bytes(content[::-1])
    with pytest.raises(
        ScoringOutputError, match=r"part-00000001\.csv.*checksum.*remove .*part-00000001\.json"
    ):
        session.score(Items(60), out=out)
    part.write_bytes(b"")
    with pytest.raises(ScoringOutputError, match="0 bytes, expected"):
        session.score(Items(60), out=out)
    (tmp_path / "y.csv.parts" / "part-00000001.json").unlink()
    assert session.score(Items(60), out=out).resumed_rows == 10


def test_one_output_is_written_by_one_run_at_a_time(session: ai.Session, tmp_path: Path) -> None:
    from ascend_infer.scoring.sinks import open_sink

    with (
        PartStore(str(tmp_path / "y.csv.parts"), open_sink("csv", (), True)),
        pytest.raises(ScoringError, match="another process is writing this output"),
    ):
        session.score(Items(3), out=tmp_path / "y.csv")


def test_a_manifest_that_is_none_is_refused(session: ai.Session, tmp_path: Path) -> None:
    (tmp_path / "y.csv.manifest.json").write_text("{")
    with pytest.raises(ResumeError, match="this is no manifest"):
        session.score(Items(3), out=tmp_path / "y.csv")


def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(session: ai.Session, tmp_path: Path) -> None:
    out = tmp_path / "y.csv"

    pressed: list[int] = []

    def prepare(item: list[int]) -> list[int]:
        if item[0] == 25 and not pressed:
            pressed.append(25)
            signal.raise_signal(signal.SIGINT)
        return item

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            session.score(Items(60), out=out, preprocess=prepare, workers=1, **LAYOUT)
    finally:
        signal.signal(signal.SIGINT, before)
    [note] = caught.value.__notes__
    assert "of 60 rows are scored and kept in" in note
    assert session.infer({"x": np.ones((1, 4), np.float32)})["y"].tolist() == [[2] * 4]
    assert session.score(Items(60), out=out, preprocess=prepare).rows == 60


def test_an_npz_folder_goes_on_too(session: ai.Session, tmp_path: Path) -> None:
    out = tmp_path / "scores"
    with pytest.raises(ScoringSourceError):
        session.score(Items(60, fail_at=35), out=out, **LAYOUT)
    assert session.score(Items(60), out=out).resumed_rows == 30
    assert session.score(Items(60), out=out).resumed_rows == 60
    assert len(list(out.iterdir())) == 6
