"""The ACL side without Python: threads over instances on the simulator, under the address sanitizer.

Under the thread sanitizer the simulator has to be compiled with it too: `.ci/campaign native` does that.
"""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ascend_infer.simulator import library_path

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "_ext" / "core"
FLAGS = [
    *("-std=c++17", "-O0", "-g1", "-pthread", "-Wall", "-Wextra", "-Wconversion", "-Werror"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
]


def test_threads_over_instances(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler (c++) on the PATH")
    probe = tmp_path / "probe.cpp"
    probe.write_text("int main() {}")
    if subprocess.run([compiler, *FLAGS, probe, "-o", tmp_path / "probe"], check=False).returncode:
        pytest.skip("the compiler has no address sanitizer")

    def compile_one(file: Path) -> subprocess.CompletedProcess[str]:
        command = [compiler, *FLAGS, "-c", file, "-o", tmp_path / f"{file.stem}.o"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    files = [*sorted(CORE.glob("*.cpp")), HERE / "native_threads.cpp"]
    with ThreadPoolExecutor(2) as threads:
        for built in threads.map(compile_one, files):
            assert built.returncode == 0, built.stderr
    program = tmp_path / "threads"
    objects = [tmp_path / f"{file.stem}.o" for file in files]
    linked = subprocess.run(
        [compiler, *FLAGS, *objects, "-o", program, "-ldl"], capture_output=True, text=True, check=False
    )
    assert linked.returncode == 0, linked.stderr
    ran = subprocess.run(
        [program, library_path(), tmp_path, "60"], capture_output=True, text=True, check=False, timeout=300
    )
    assert (ran.returncode, ran.stdout) == (0, "passed\n"), ran.stdout + ran.stderr
