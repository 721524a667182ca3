"""onnxruntime's library in C++, built with the system's compiler and run under the address sanitizer.

Not under the thread sanitizer: onnxruntime's own threads are not compiled for it.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import onnx_models as made
import pytest

pytest.importorskip("onnxruntime")

HERE = Path(__file__).parent
EXT = HERE.parents[1] / "_ext"
FLAGS = [
    *("-std=c++17", "-O0", "-g1", "-pthread", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{EXT}"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
]


def test_models_in_cpp(tmp_path: Path) -> None:
    from ascend_infer.backends.onnx_library import find_library

    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler (c++) on the PATH")
    library = find_library()
    if library is None:
        pytest.skip("the installed onnxruntime has no library that C can load")
    probe = tmp_path / "probe.cpp"
    probe.write_text("int main() {}")
    if subprocess.run([compiler, *FLAGS, probe, "-o", tmp_path / "probe"], check=False).returncode:
        pytest.skip("the compiler has no address sanitizer")

    unit = tmp_path / "unit.cpp"
    parts = [*sorted((EXT / "core").glob("ort_*.cpp")), HERE / "ort_models.cpp"]
    unit.write_text("".join(f'#include "{part}"\n' for part in parts))
    program = tmp_path / "models"
    built = subprocess.run(
        [compiler, *FLAGS, unit, "-o", program, "-ldl"], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    models = [
        made.write(model, tmp_path / f"{name}.onnx")
        for name, model in (
            ("identity", made.identity()),
            ("failing", made.failing_reshape()),
            ("looping", made.looping()),
        )
    ]
    ran = subprocess.run(
        [program, library, *models], capture_output=True, text=True, check=False, timeout=300
    )
    assert (ran.returncode, ran.stdout) == (0, "passed\n"), ran.stdout + ran.stderr
