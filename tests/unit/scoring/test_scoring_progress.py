"""Progress: shown to whoever watches, and to nobody else."""

from __future__ import annotations

import builtins
import io
import os
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest

import ascend_infer as ai
from ascend_infer.errors import MissingDependencyError
from ascend_infer.scoring import job
from ascend_infer.scoring.progress import open_progress
from ascend_infer.scoring.sources import SourceOptions
from ascend_infer.scoring.sources.text_records import JsonLines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *given: Any, **options: Any) -> Any:
        if name.startswith("tqdm"):
            raise ImportError("No module named 'tqdm'")
        return real(name, *given, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)


def shown(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    wanted: bool | str,
    total: int | None = 10,
    about: int | None = None,
) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with open_progress(wanted, total, 2) as progress:
        progress.advance(4, 1, 0.5, about)
    return stream.getvalue()


def test_a_file_or_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), "auto") == ""
    assert shown(monkeypatch, Terminal(), False) == ""


def test_a_bar_of_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    text = shown(monkeypatch, Terminal(), "auto")
    assert "6/10" in text
    assert "device=50%, queue=1" in text or "queue=1, device=50%" in text


@pytest.mark.usefixtures("without_tqdm")
def test_a_line_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal(), "auto")
    assert text.startswith("\r6/10 rows, ")
    assert "s left, queue 1, device 50%" in text
    assert text.endswith("\n")
    assert "6 rows, " in shown(monkeypatch, io.StringIO(), True, None)


def test_a_bar_of_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    text = shown(monkeypatch, Terminal(), "auto", None, 12)
    assert "6/~12" in text
    assert "<~" in text
    assert "6/~6" in shown(monkeypatch, Terminal(), "auto", None, 5)


@pytest.mark.usefixtures("without_tqdm")
def test_a_line_of_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal(), "auto", None, 12)
    assert text.startswith("\r6/~12 rows, ")
    assert ", ~0 s left, " in text
    assert "6/~6 rows, " in shown(monkeypatch, Terminal(), "auto", None, 5)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_text_file_s_rows_are_estimated_by_its_bytes(
    session: ai.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    source = tmp_path / f"x.{suffix}"
    line = {"csv": "1,2,3,4\n", "jsonl": "[1, 2, 3, 4]\n"}[suffix]
    source.write_text(("a,b,c,d\n" if suffix == "csv" else "") + line * 40_000)
    told: list[int | None] = []

    class Told:
        def __enter__(self) -> Told:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def advance(self, rows: int, waiting: int, share: float, about: int | None = None) -> None:
            told.append(about)

    monkeypatch.setattr(job, "open_progress", lambda *_: Told())
    session.score(source, out=tmp_path / "y.csv", top_k=0, batch=8, workers=1)
    known = [about for about in told if about is not None]
    assert len(known) > len(told) / 2
    assert all(36_000 <= about <= 44_000 for about in known[len(known) // 2 :])


def test_a_pipe_s_rows_are_not_estimated(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("[1]\n" * 300,))
    writer.start()
    source = JsonLines(str(path), SourceOptions())
    assert len(list(source.rows(0))) == 300
    assert source.expected_rows() is None
    writer.join()


@pytest.mark.usefixtures("without_tqdm")
def test_a_notebook_asks_for_tqdm_only_when_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert shown(monkeypatch, io.StringIO(), "auto") == ""
    with pytest.raises(MissingDependencyError, match=r"ascend-infer\[progress\]"):
        open_progress(True, 10, 0)
