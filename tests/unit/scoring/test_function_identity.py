"""Functions are told apart by what they do and what is bound to them, the same way in each run."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ascend_infer as ai
from ascend_infer.errors import ResumeError
from ascend_infer.scoring.function_identity import function_identity

SOURCE = """
import dataclasses, functools

@dataclasses.dataclass
class Scale:
    sizes: set
    def __call__(self, x):
        return x
    def method(self, x):
        return x in {"b", "a", "d", "c"}

def made(factor):
    seen = []
    def scaled(x, name="n"):
        seen.append(x)
        return [y * factor for y in x if name in ("a", "b")]
    return scaled

scale = Scale({"one", "two", "three", "four"})
functions = [
    scale, scale.method, made(3), lambda x: x + 1, functools.partial(made, object(), key={"a", "b", "c"}),
    print, str.upper, "abc".join,
]
"""


def made(factor: Any) -> Callable[[Any], Any]:
    return lambda x: x * factor


def scaled(x: Any, factor: Any = 1) -> Any:
    return x * factor


@dataclass
class Scale:
    factor: float

    def __call__(self, x: Any) -> Any:
        return x * self.factor

    def by_method(self, x: Any) -> Any:
        return x * self.factor


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (functools.partial(scaled, factor=1), functools.partial(scaled, factor=10)),
        (functools.partial(scaled, 1), functools.partial(scaled, 10)),
        (functools.partial(scaled, np.zeros(5000)), functools.partial(scaled, np.eye(5000, 1)[:, 0])),
        (functools.partial(scaled, [0] * 999 + [1]), functools.partial(scaled, [0] * 999 + [2])),
        (functools.partial(made(1)), functools.partial(made(2))),
        (functools.partial(scaled, made(1)), functools.partial(scaled, made(2))),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x: x.real, lambda x: x.imag),
        (lambda x: [y + 1 for y in x], lambda x: [y + 2 for y in x]),
        (lambda x, factor=1: x * factor, lambda x, factor=2: x * factor),
        (made(1), made(2)),
        (made(scaled), made(made)),
        (Scale(1), Scale(2)),
        (Scale(1).by_method, Scale(2).by_method),
        (np.sqrt, np.square),
        (abs, len),
    ],
)
def test_they_are_told_apart(one: Any, other: Any) -> None:
    assert function_identity(one) == function_identity(one)
    assert function_identity(one) != function_identity(other)


def test_a_run_s_state_and_the_place_in_a_file_are_not_in_it() -> None:
    seen: list[Any] = []
    before = function_identity(made(seen))
    seen.append(1)
    assert function_identity(made(seen)) == before
    one, two = {}, {}  # type: dict[str, Any], dict[str, Any]
    exec(compile("def f(x):\n    return [y for y in x]\n", "a.py", "exec"), one)
    exec(compile("\n\n# more\ndef f(x):\n    return [y for y in x]\n", "b.py", "exec"), two)
    assert function_identity(one["f"]) == function_identity(two["f"])


def test_they_are_the_same_in_each_interpreter() -> None:
    code = f"""{SOURCE}
import json
from ascend_infer.scoring.function_identity import function_identity
print(json.dumps([function_identity(function) for function in functions]))
"""
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert len(json.loads(found[0])) == 8
    assert "0x" not in found[0]


def test_another_function_is_refused_with_what_is_different(session: ai.Session, tmp_path: Path) -> None:
    rows = [(name, [1, 2, 3, 4]) for name in "abc"]

    def run(preprocess: Any) -> Any:
        return session.score(rows, out=tmp_path / "y.csv", preprocess=preprocess)

    run(functools.partial(np.multiply, 2))
    assert run(functools.partial(np.multiply, 2)).resumed_rows == 3
    with pytest.raises(ResumeError, match=r'options.preprocess.bound.0: was "2", is "3"'):
        run(functools.partial(np.multiply, 3))
    with pytest.raises(ResumeError, match=r"options.preprocess.code: was not there, is"):
        run(lambda item: item)
