"""A compiler that stands in for CANN's: checks its arguments, writes a simulator model, or goes wrong as told."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

__all__ = ["StandInAtc", "stand_in_atc"]

_SCRIPT = '''#!{python}
import os, signal, subprocess, sys
from pathlib import Path

here = Path(__file__).resolve().parent
behaviour = (here / "behaviour").read_text() if (here / "behaviour").exists() else "compile"
with open(here / "runs", "a") as file:
    file.write("\\0".join([os.getcwd(), *sys.argv[1:]]) + "\\n")
print("ATC start working now, please wait for a moment.", flush=True)
options = dict(word[2:].split("=", 1) for word in sys.argv[1:])

def fail(text, code=1):
    print("...\\nATC run failed, Please check the detail log, Try 'atc --help' for more information")
    print(text, flush=True)
    sys.exit(code)

for name in ("model", "output", "soc_version"):
    if not options.get(name):
        fail("E10004: [PID: 1] 2025-01-02-03:04:05.006.007 Value for --" + name + " is empty.")
if options.get("framework") != "5":
    fail("E10007: Value " + options.get("framework", "") + " for parameter --framework is invalid.")
if not Path(options["model"]).is_file():
    fail("E10001: Value " + options["model"] + " for parameter --model is invalid. Reason: no such file")
if behaviour == "fail":
    fail("""E20001: [PID: 200452] 2025-06-16-13:02:36.801.136 Failed to compile Op [/head/Slice_5]. (optype: [Slice])
        Possible Cause: The operator has an invalid argument.
        Solution: For a custom operator, check the operator implementation.
        TraceBack (most recent call last):
        build graph failed, graph id:0[FUNC:BuildModel][FILE:ge_generator.cc][LINE:1608]
        build graph failed, graph id:0[FUNC:Build][FILE:ge_generator.cc][LINE:1700]
""")
if behaviour == "hang":
    helper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    (here / "pids").write_text(f"{{os.getpid()}} {{helper.pid}}")
    (Path(options["output"]).parent / "model.om").write_bytes(b"half")
    print("hanging now", flush=True)
    signal.pause()
if behaviour == "crash":
    os.kill(os.getpid(), signal.SIGKILL)
if behaviour == "silent":
    print("ATC run success, welcome to the next use.")
    sys.exit(0)

from ascend_infer import om, onnx_file
from ascend_infer.types import Gear, TensorSpec

spec = onnx_file.read(options["model"]).spec
shapes = {{}}
for item in filter(None, options.get("input_shape", "").split(";")):
    name, _, dims = item.rpartition(":")
    shapes[name] = tuple(-1 if "~" in d else int(d) for d in dims.split(",") if d)
known = {{tensor.name for tensor in spec.inputs}}
for name in shapes:
    if name not in known:
        fail("E10016: Op name " + name + " specified in --input_shape is not found in the model.")
inputs = [TensorSpec(t.name, t.dtype, shapes.get(t.name, t.shape)) for t in spec.inputs]
gears = [Gear("batch", (int(n),)) for n in options.get("dynamic_batch_size", "").split(",") if n]
if len(gears) == 1:
    fail("E10035: --dynamic_batch_size has 1 profiles, which is less than the minimum 2.")
outputs = spec.outputs
if not any(-1 in tensor.shape for tensor in inputs):
    outputs = [TensorSpec(t.name, t.dtype, tuple(1 if d == -1 else d for d in t.shape)) for t in outputs]
target = options["output"] + ("_linux_x86_64.om" if behaviour == "host name" else ".om")
if behaviour == "garbage":
    Path(target).write_bytes(b"no model at all")
else:
    om.write_simulator_model(
        target, onnx=Path(options["model"]).read_bytes(), inputs=inputs, outputs=outputs, gears=gears,
        soc=options["soc_version"],
    )
(Path(target).parent / "fusion_result.json").write_text("{{}}")
if behaviour == "external weights":
    (Path(target).parent / "weight").mkdir()
    (Path(target).parent / "weight" / "w0").write_bytes(b"1234")
print("...\\nATC run success, welcome to the next use.", flush=True)
'''


class StandInAtc:
    """The program's path, what it was called with, and how it is to behave from now on."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.path = folder / "atc"
        self.path.write_text(_SCRIPT.format(python=sys.executable))
        self.path.chmod(0o755)

    def behave(self, behaviour: str) -> None:
        (self.folder / "behaviour").write_text(behaviour)

    @property
    def runs(self) -> list[list[str]]:
        """The arguments of every run."""
        return [words[1:] for words in self._lines()]

    @property
    def folders(self) -> list[Path]:
        """The current folder of every run."""
        return [Path(words[0]) for words in self._lines()]

    def options(self, run: int = -1) -> dict[str, str]:
        return dict(word[2:].split("=", 1) for word in self.runs[run])

    def is_alive(self) -> bool:
        """Whether the hanging program, or the one that it started, goes on running."""
        return not all(_ends(int(pid)) for pid in (self.folder / "pids").read_text().split())

    def _lines(self) -> list[list[str]]:
        log = self.folder / "runs"
        return [line.split("\0") for line in log.read_text().splitlines()] if log.exists() else []


def _ends(pid: int) -> bool:
    """Whether a process is gone, or goes: one that was killed takes a moment to die."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 20.0)[0])
    finally:
        os.close(descriptor)


@pytest.fixture
def stand_in_atc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandInAtc:
    """A stand-in on the PATH, and a cache of the test's own."""
    atc = StandInAtc(tmp_path / "cann" / "bin")
    monkeypatch.setenv("PATH", f"{atc.folder}{os.pathsep}{os.environ.get('PATH', '')}")
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    return atc
