from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_infer.doctor.bounded_process import Deadline
from ascend_infer.doctor.prober import ProbeLimits, Prober

Acl = Callable[..., Path]
HANG = "int aclInit(const char *c) { for (;;) pause(); }"
SHORT = ProbeLimits(start=60, step=1.5)


def probe_runtime(machine: Any, library: Path, limits: ProbeLimits = SHORT) -> Any:
    prober = Prober(machine.environment(), Deadline(120), limits)
    return prober.probe("runtime", libraries=[str(library)], device=0, model_soc=None)


def test_a_working_card_answers_every_step(machine: Any, acl_library: Acl) -> None:
    answer = probe_runtime(machine, acl_library(), ProbeLimits(60, 60))
    assert answer.broke is None
    assert answer.failed_step is None
    assert answer.value("aclrtGetDeviceCount", "count") == 2
    assert answer.value("aclrtGetSocName", "soc") == "Ascend310P3"
    assert answer.value("aclrtGetMemInfo", "free") == 3 << 30
    assert answer.value("aclsysGetVersionStr runtime", "version") == "8.5.0"
    assert answer.step("aclFinalize").ok


def test_a_failing_call_ends_the_probe_with_code_and_text(machine: Any, acl_library: Acl) -> None:
    library = acl_library({"aclrtSetDevice": "int aclrtSetDevice(int d) { return 507033; }"})
    answer = probe_runtime(machine, library, ProbeLimits(60, 60))
    failed = answer.failed_step
    assert (failed.name, failed.values["code"]) == ("aclrtSetDevice", 507033)
    assert "said by the runtime" in failed.values["text"]
    assert answer.step("aclFinalize") is None


def test_acl_that_is_initialised_already_is_success(machine: Any, acl_library: Acl) -> None:
    library = acl_library({"aclInit": "int aclInit(const char *c) { return 100002; }"})
    assert probe_runtime(machine, library, ProbeLimits(60, 60)).failed_step is None


def test_a_hang_is_killed_and_named(machine: Any, acl_library: Acl) -> None:
    answer = probe_runtime(machine, acl_library({"aclInit": HANG}))
    assert "hung in step 'aclInit'" in answer.broke
    assert not answer.step("aclInit").ended


def test_a_hanging_constructor_is_named_too(machine: Any, acl_library: Acl) -> None:
    library = acl_library(extra="__attribute__((constructor)) void stop(void) { for (;;) pause(); }")
    answer = probe_runtime(machine, library)
    assert f"hung in step 'load {library.name}'" in answer.broke


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("abort();", "SIGABRT"),
        ("*(volatile int *)0 = 1;", "SIGSEGV"),
        ("_exit(0);", "left in step 'aclInit' with exit code 0"),
        ("_exit(7);", "exit code 7"),
    ],
)
def test_a_crash_is_named_with_its_step(machine: Any, acl_library: Acl, body: str, words: str) -> None:
    code = (
        f'int aclInit(const char *c) {{ fprintf(stderr, "last words\\n"); fflush(stderr); {body} return 0; }}'
    )
    answer = probe_runtime(machine, acl_library({"aclInit": code}), ProbeLimits(60, 60))
    assert words in answer.broke
    assert "'aclInit'" in answer.broke
    assert "last words" in answer.stderr


def test_what_a_library_prints_does_not_spoil_the_answer(machine: Any, acl_library: Acl) -> None:
    code = 'int aclInit(const char *c) { printf("[INFO] {\\"end\\"\\n"); fflush(stdout); return 0; }'
    answer = probe_runtime(machine, acl_library({"aclInit": code}), ProbeLimits(60, 60))
    assert answer.broke is None
    assert "[INFO]" in answer.stderr


@pytest.mark.parametrize(
    "text", ["no json at all", "[1, 2]", '"text"', "\\x00\\xff", '{"begin": "a"}\\nrubbish']
)
def test_garbage_is_an_answer(machine: Any, text: str) -> None:
    command = (sys.executable, "-c", f"print({text!r})")
    prober = Prober(machine.environment(), Deadline(120), ProbeLimits(60, 60), command)
    answer = prober.probe("runtime")
    assert "garbage" in answer.broke


def test_no_answer_is_an_answer(machine: Any) -> None:
    prober = Prober(machine.environment(), Deadline(120), ProbeLimits(60, 60), (sys.executable, "-c", ""))
    assert "no answer" in prober.probe("runtime").broke


def test_without_an_interpreter_nothing_starts(machine: Any) -> None:
    environment = machine.environment(executable="")
    answer = Prober(environment, Deadline(120)).probe("import", modules=["json"])
    assert "could not be started" in answer.broke


def test_libraries_are_looked_for_inside_the_machines_root(machine: Any, compile_library: Any) -> None:
    base = compile_library("int base(void) { return 5; }", "-Wl,-soname,libbase.so")
    machine.write("/opt/lib/libbase.so", base.read_bytes())
    (base.parent / "libbase.so").write_bytes(base.read_bytes())
    source = "int base(void); int aclInit(void) { return base(); }"
    top = compile_library(source, f"-L{base.parent}", "-lbase")
    (base.parent / "libbase.so").unlink()
    prober = Prober(machine.environment(), Deadline(120), ProbeLimits(60, 60))
    answer = prober.probe("library", libraries=[str(top)], functions=[])
    assert "libbase.so: cannot open shared object file" in answer.failed_step.values["error"]
    machine.add_to_path("/opt/lib")
    prober = Prober(machine.environment(), Deadline(120), ProbeLimits(60, 60))
    answer = prober.probe("library", libraries=[str(top)], functions=["aclInit", "aclNone"])
    assert answer.value("look up functions", "missing") == ["aclNone"]
    assert str(machine.root / "opt/lib/libbase.so") in answer.value("list loaded libraries", "mapped")


def test_an_examination_leaves_nothing_in_the_home_folder(machine: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    machine.variables["HOME"] = str(home)
    prober = Prober(machine.environment(), Deadline(120), ProbeLimits(60, 60))
    answer = prober.probe("import", modules=["onnxruntime"])
    assert answer.step("import onnxruntime").ended
    assert list(home.iterdir()) == []


def test_the_probe_is_a_program_of_its_own() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ascend_infer.doctor.probe",
            "import",
            json.dumps({"modules": ["json", "no_such"]}),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0] == {"begin": "import json"}
    assert lines[-2]["ok"] is False
    assert "no_such" in lines[-2]["error"]
    assert lines[-1] == {"finished": True}
