"""The counters' C++ tests, built with the system's compiler and run under its sanitizers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FLAGS = [
    *("-std=c++17", "-g1", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{HERE.parents[1] / '_ext'}"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, check=False)


def test_counters(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler (c++) on the PATH")
    probe = tmp_path / "probe.cpp"
    probe.write_text("int main() {}")
    if run(compiler, *FLAGS, probe, "-o", tmp_path / "probe").returncode:
        pytest.skip("the compiler has no address sanitizer")
    built = run(compiler, *FLAGS, HERE / "counters.cpp", "-o", tmp_path / "counters")
    assert built.returncode == 0, built.stderr
    ran = run(tmp_path / "counters")
    assert (ran.returncode, ran.stdout) == (0, "passed\n"), ran.stdout + ran.stderr
