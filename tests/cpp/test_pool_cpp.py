"""The memory pool's C++ tests, built with the system's compiler and run under its sanitizers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXT = HERE.parents[1] / "_ext"
FLAGS = ["-std=c++17", "-g1", "-pthread", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{EXT}"]
SANITIZERS = {"address": "-fsanitize=address,undefined", "thread": "-fsanitize=thread"}


def compiler() -> str:
    found = shutil.which("c++")
    if found is None:
        pytest.skip("no C++ compiler (c++) on the PATH")
    return found


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("sanitizer", "sources"),
    [
        (
            "address",
            [
                "pool_addresses",
                "pool_failures",
                "pool_misuse",
                "pool_lifetime",
                "pool_history",
                "pool_host_memory",
            ],
        ),
        ("thread", ["pool_threads"]),
    ],
)
def test_the_pool_in_cpp(sanitizer: str, sources: list[str], tmp_path: Path) -> None:
    cxx = compiler()
    flags = [*FLAGS, SANITIZERS[sanitizer], "-fno-sanitize-recover=all"]
    probe = tmp_path / "probe.cpp"
    probe.write_text("int main() {}")
    if run(cxx, flags[-2], probe, "-o", tmp_path / "probe").returncode:
        pytest.skip(f"the compiler has no {sanitizer} sanitizer")

    # One unit: the pool's templates are compiled once, not once a file.
    parts = [
        HERE / "pool_main.cpp",
        *(HERE / f"{name}.cpp" for name in sources),
        EXT / "core" / "block_list.cpp",
    ]
    unit = tmp_path / "unit.cpp"
    unit.write_text("".join(f'#include "{part}"\n' for part in parts))
    program = tmp_path / "tests"
    built = run(cxx, *flags, unit, "-o", program)
    assert built.returncode == 0, built.stderr

    ran = run(program)
    assert ran.returncode == 0, ran.stderr
    written = sum((HERE / f"{name}.cpp").read_text().count("\nTEST(") for name in sources)
    assert len(ran.stdout.splitlines()) == written
