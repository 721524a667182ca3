"""The command line called in this process, and what came of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from ascend_infer.cli import main


@dataclass(frozen=True)
class CliRun:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object) -> CliRun:
        self._capsys.readouterr()
        code = main([str(word) for word in words])
        captured = self._capsys.readouterr()
        return CliRun(code, captured.out, captured.err)

    def refused(self, *words: object) -> str:
        """Run what must fail with one plain error line, and return it."""
        done = self(*words)
        assert done.code == 2, done
        assert not done.out
        assert done.err.startswith("error: ") or "\nerror: " in done.err, done.err
        assert "Traceback" not in done.err
        return done.err


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)
