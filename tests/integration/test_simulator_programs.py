"""Programs from outside run on the simulator: built for CANN's library names, unmodified."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from ascend_infer import om
from ascend_infer.cli.program import run_program
from ascend_infer.simulator import SimulatorOptions, compile_model, program_environment
from tests.helpers.onnx_models import identity, scale, write

pytest.importorskip("onnxruntime", reason="needs onnxruntime")

ROOT = Path(__file__).parents[2]

# As a user would write it: device, memory, model, one run; prints what came out.
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include "acl_api_prototypes.h"
static void check(int code, const char *call) {
  if (code == 0) return;
  std::printf("%s: %d\n", call, code);
  std::exit(code % 100);
}
#define CHECK(call) check(call, #call)
int main(int, char **words) {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(std::atoi(words[2])));
  uint32_t id = 0;
  CHECK(aclmdlLoadFromFile(words[1], &id));
  float in[4] = {1, 2, 3, 4}, out[4] = {0, 0, 0, 0};
  void *x = nullptr, *y = nullptr;
  CHECK(aclrtMalloc(&x, 16, 0));
  CHECK(aclrtMalloc(&y, 16, 0));
  aclmdlDataset *ins = aclmdlCreateDataset(), *outs = aclmdlCreateDataset();
  CHECK(aclmdlAddDatasetBuffer(ins, aclCreateDataBuffer(x, 16)));
  CHECK(aclmdlAddDatasetBuffer(outs, aclCreateDataBuffer(y, 16)));
  CHECK(aclrtMemcpy(x, 16, in, 16, 1));
  CHECK(aclmdlExecute(id, ins, outs));
  CHECK(aclrtMemcpy(out, 16, y, 16, 2));
  std::printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);
  CHECK(aclmdlUnload(id));
  CHECK(aclrtResetDevice(std::atoi(words[2])));
  return aclFinalize();
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program, linked against one library as up to CANN 8.3, and against the two that came after."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs a C++ compiler (g++)")
    folder = tmp_path_factory.mktemp("program")
    prototypes = (ROOT / "_ext/sim/prototypes.hpp").read_text().replace('"../acl_types.h"', '"acl_types.h"')
    (folder / "acl_api_prototypes.h").write_text(prototypes)
    (folder / "main.cpp").write_text(PROGRAM)
    # What CANN ships for linking: libraries that have the names and do nothing.
    names = [line.split("(")[0].split()[-1] for line in prototypes.splitlines() if line.endswith(");")]
    (folder / "stub.c").write_text("".join(f"int {name}(void) {{ return 100039; }}\n" for name in names))
    found = {}
    for kind, libraries in {"one": ["ascendcl"], "split": ["acl_rt", "acl_mdl"]}.items():
        for library in libraries:
            command = [
                "gcc",
                "-shared",
                "-w",
                "-fno-builtin",
                folder / "stub.c",
                f"-Wl,-soname,lib{library}.so",
            ]
            subprocess.run([*command, "-o", folder / f"lib{library}.so"], check=True)
        program = folder / kind
        command = [
            compiler,
            "-std=c++17",
            f"-I{folder}",
            f"-I{ROOT / '_ext'}",
            folder / "main.cpp",
            "-o",
            program,
        ]
        links = [f"-L{folder}", "-Wl,--no-as-needed", *(f"-l{library}" for library in libraries)]
        subprocess.run([*command, *links], check=True)
        found[kind] = program
    return found


@pytest.fixture
def model(tmp_path: Path) -> Path:
    compile_model(write(scale(2.0, (1, 4)), tmp_path / "m.onnx"), tmp_path / "m.om")
    return tmp_path / "m.om"


@pytest.mark.parametrize("kind", ["one", "split"])
def test_a_program_in_cpp(
    built: dict[str, Path], model: Path, tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    words = ["simulate", "--devices", "2", "--report", str(report), "--", str(built[kind]), str(model), "1"]
    assert run_program(words) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "2 4 6 8"
    first, *calls = report.read_text().splitlines()
    stats = json.loads(first)
    assert stats["devices"][1]["executions"] == 1
    assert stats["violations"] == {"device reset with live device memory": 1}
    assert calls[-1].endswith("aclFinalize 0")


def test_its_exit_code_and_faults_come_through(
    built: dict[str, Path], model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", "--faults", "aclrtMalloc@2=207001", "--", str(built["one"]), str(model), "0"]
    assert run_program(words) == 1
    assert "207001" in capfd.readouterr().out
    assert run_program(["simulate", "--", str(built["one"]), str(model), "7"]) == 1  # 107001: one card only


def test_a_program_in_python(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = "import ctypes; l = ctypes.CDLL('libascendcl.so'); print(l.aclInit(None), l.aclrtSetDevice(0))"
    assert run_program(["simulate", "--", sys.executable, "-c", code]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "0 0"


def test_what_cannot_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["simulate"]) == 2
    assert run_program(["simulate", "--", str(tmp_path / "none")]) == 2
    config = tmp_path / "config.json"
    config.write_text('{"nothing": 1}')
    assert run_program(["simulate", "--config", str(config), "--", "true"]) == 2
    assert "nothing" in capsys.readouterr().err


def test_options_reach_the_program(tmp_path: Path) -> None:
    options = SimulatorOptions(soc="Ascend910B4", faults="aclInit@1=500000")
    base = {"LD_LIBRARY_PATH": "/elsewhere", "ACLSIM_FAULTS": "x"}
    with program_environment(options, base) as environment:
        folder, _, rest = environment["LD_LIBRARY_PATH"].partition(":")
        assert rest == "/elsewhere"
        assert sorted(path.name for path in Path(folder).iterdir()) == [
            "libacl_mdl.so", "libacl_rt.so", "libascendcl.so", "libascendcl_sim.so",
        ]  # fmt: skip
        assert json.loads(environment["ACLSIM_CONFIG"])["soc"] == "Ascend910B4"
        assert "ACLSIM_FAULTS" not in environment
    assert not Path(folder).exists()


def test_compile_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(identity(TensorProto.FLOAT, ("n", 4)), tmp_path / "m.onnx")
    target = tmp_path / "m.om"
    assert run_program(["simulate", "compile", str(source), "-o", str(target), "--batch", "1,2,8"]) == 0
    assert [gear.values for gear in om.read(target).spec().gears] == [(1,), (2,), (8,)]
    assert run_program(["simulate", "compile", str(source), "-o", str(target), "--input-shape", "x:3,4"]) == 0
    assert om.read(target).spec().inputs[0].shape == (3, 4)
    assert (
        run_program(
            ["simulate", "compile", str(source), "-o", str(target), "--dynamic", "--soc", "Ascend310P3"]
        )
        == 0
    )
    assert om.read(target).spec().inputs[0].shape == (-1, 4)
    assert run_program(["simulate", "compile", str(source), "-o", str(target), "--dims", "1;2"]) == 0
    assert run_program(["simulate", "compile", str(source), "-o", str(target), "--batch", "two"]) == 2
    assert run_program(["simulate", "compile", str(source), "-o", str(target)]) == 2
    assert run_program(["simulate", "describe", str(target)]) == 0
    assert "no static AIPP" in capsys.readouterr().out


def test_compile_with_an_aipp_file(tmp_path: Path) -> None:
    source = write(identity(TensorProto.FLOAT, (1, 3, 8, 8)), tmp_path / "m.onnx")
    config = tmp_path / "aipp.cfg"
    config.write_text(
        "aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 8 src_image_size_h: 8 }"
    )
    target = tmp_path / "m.om"
    assert run_program(["simulate", "compile", str(source), "-o", str(target), "--aipp", str(config)]) == 0
    spec = om.read(target).spec().inputs[0]
    assert spec.shape == (1, 8, 8, 3)
    assert spec.dtype.numpy == np.uint8
