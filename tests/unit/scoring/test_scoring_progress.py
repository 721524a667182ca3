"""Progress: shown to whoever watches, and to nobody else."""

from __future__ import annotations

import builtins
import io
import sys
import types
from typing import Any

import pytest

from ascend_infer.errors import MissingDependencyError
from ascend_infer.scoring.progress import open_progress


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
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, wanted: bool | str, total: int | None = 10
) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with open_progress(wanted, total, 2) as progress:
        progress.advance(4, 1, 0.5)
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


@pytest.mark.usefixtures("without_tqdm")
def test_a_notebook_asks_for_tqdm_only_when_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert shown(monkeypatch, io.StringIO(), "auto") == ""
    with pytest.raises(MissingDependencyError, match=r"ascend-infer\[progress\]"):
        open_progress(True, 10, 0)
