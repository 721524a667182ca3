from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ascend_infer.doctor import CHECKS, Evidence, Finding, Report, Verdict, examine
from ascend_infer.doctor.prober import ProbeLimits
from ascend_infer.errors import InvalidOptionError

Acl = Callable[..., Path]

# Its presence is asked of importlib: the tests' own process does not import it.
needs_onnxruntime = pytest.mark.skipif(
    find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)


def without_npu(machine: Any, **options: Any) -> Report:
    limits = ProbeLimits(start=60, step=60)
    return examine(environment=machine.environment(), time_limit=120, limits=limits, **options)


@needs_onnxruntime
def test_no_npu_is_no_problem_and_said_plainly(machine: Any) -> None:
    report = without_npu(machine)
    assert (report.usable, report.exit_code, report.device) == (True, 0, "cpu")
    assert "no NPU" in report.conclusion[0]
    assert "onnxruntime" in report.conclusion[0]
    text = report.to_text()
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 160


def test_every_check_is_in_the_report_in_its_order(machine: Any) -> None:
    report = without_npu(machine)
    assert [finding.check for finding in report.findings] == list(CHECKS)
    assert report.finding("driver").verdict is Verdict.NOT_APPLICABLE
    with pytest.raises(KeyError):
        report.finding("no such check")


def test_an_npu_that_was_asked_for(machine: Any) -> None:
    report = without_npu(machine, device="npu:1")
    assert (report.usable, report.exit_code, report.device) == (False, 1, "none")
    machine.variables["ASCEND_INFER_DEVICE"] = "npu"
    assert without_npu(machine).exit_code == 1
    assert without_npu(machine, device="auto").exit_code == 1


@pytest.mark.parametrize("device", ["cpu", "sim", "sim:1"])
def test_who_wants_no_npu_is_not_told_to_mend_it(machine: Any, device: str) -> None:
    machine.nodes()
    report = without_npu(machine, device=device)
    for check in ("driver", "cann", "acl_library"):
        assert report.finding(check).verdict is not Verdict.PROBLEM


@needs_onnxruntime
def test_an_npu_without_the_compiled_part(machine: Any, acl_library: Acl) -> None:
    machine.working(acl_library())
    report = without_npu(machine)
    assert report.device == "cpu"
    assert "compiled part of ascend-infer is not built" in report.conclusion[0]
    assert report.finding("extension").verdict is Verdict.PROBLEM
    assert report.exit_code == 1


@needs_onnxruntime
def test_the_cpu_does_without_the_compiled_part(machine: Any) -> None:
    report = without_npu(machine)
    assert report.finding("extension").verdict is Verdict.WARNING
    assert (report.usable, report.exit_code) == (True, 0)


@needs_onnxruntime
@pytest.mark.parametrize(
    "library",
    ["missing", "aclInit only", "crashes", "hangs on load", "the simulator", "a pipe", "no library"],
)
def test_a_named_library_that_does_not_work_is_a_problem_in_every_case(
    machine: Any, compile_library: Any, acl_library: Acl, library: str
) -> None:
    path = machine.root / "named.so"
    if library == "a pipe":
        os.mkfifo(path)
    elif library == "no library":
        path.write_text("text")
    elif library != "missing":
        source = {
            "aclInit only": lambda: compile_library("int aclInit(const char *c) { return 0; }"),
            "crashes": lambda: compile_library(
                "#include <stdlib.h>\n__attribute__((constructor)) void f(void) { abort(); }"
            ),
            "hangs on load": lambda: compile_library(
                "#include <unistd.h>\n__attribute__((constructor)) void f(void) { for (;;) pause(); }"
            ),
            "the simulator": lambda: acl_library(extra="const char *aclsim_version(void) { return 0; }"),
        }[library]()
        path.write_bytes(source.read_bytes())
    machine.variables["ASCEND_INFER_ACL_LIBRARY"] = "/named.so"
    limits = ProbeLimits(start=60, step=3 if library == "hangs on load" else 60)
    report = examine(environment=machine.environment(), time_limit=120, limits=limits)
    assert report.finding("acl_library").verdict is Verdict.PROBLEM
    assert (report.exit_code, report.device) == (1, "cpu")
    # Who wants the CPU does not need it.
    report = examine(environment=machine.environment(), time_limit=120, limits=limits, device="cpu")
    assert report.exit_code == 0


@needs_onnxruntime
def test_the_simulator_as_the_acl_library_is_called_so(machine: Any, acl_library: Acl) -> None:
    from importlib.machinery import EXTENSION_SUFFIXES

    (machine.package / f"_native{EXTENSION_SUFFIXES[0]}").touch()
    machine.write(
        "/named.so", acl_library(extra="const char *aclsim_version(void) { return 0; }").read_bytes()
    )
    machine.variables["ASCEND_INFER_ACL_LIBRARY"] = "/named.so"
    report = without_npu(machine)
    assert report.device == "cpu"
    assert "2 x simulated Ascend310P3" in report.finding("runtime").summary
    assert "is the simulator" in report.finding("acl_library").summary
    assert report.conclusion[0].startswith(
        "There is no NPU here. The ACL library that was found is the simulator."
    )


def test_a_whole_machine(machine: Any, acl_library: Acl) -> None:
    from importlib.machinery import EXTENSION_SUFFIXES

    (machine.package / f"_native{EXTENSION_SUFFIXES[0]}").touch()
    machine.working(acl_library(), count=2)
    report = without_npu(machine)
    assert (report.device, report.exit_code) == ("npu", 0)
    assert "2 x Ascend310P3" in report.conclusion[0]


def test_the_simulator_is_used_by_name_only(machine: Any, make_elf: Callable[..., bytes]) -> None:
    from importlib.machinery import EXTENSION_SUFFIXES

    (machine.package / "libascendcl_sim.so").write_bytes(make_elf())
    assert without_npu(machine, device="sim").device == "none"  # nothing that could drive it
    (machine.package / f"_native{EXTENSION_SUFFIXES[0]}").touch()
    installed = find_spec("onnxruntime") is not None  # runs its models
    assert without_npu(machine, device="sim").device == ("sim" if installed else "none")
    assert without_npu(machine).device == ("cpu" if installed else "none")


def test_everything_hangs_and_the_report_comes_all_the_same(machine: Any, acl_library: Acl) -> None:
    machine.working(acl_library({"aclInit": "int aclInit(const char *c) { for (;;) pause(); }"}))
    machine.write("/usr/local/sbin/npu-smi", "#!/bin/sh\nexec sleep 600\n", mode=0o755)
    report = examine(environment=machine.environment(), time_limit=4)
    assert report.exit_code == 1
    broken = {finding.check for finding in report.findings if "killed" in finding.summary}
    # On a busy machine the time may be up before the first child has loaded the library.
    assert broken & {"acl_library", "runtime"}
    assert [finding.check for finding in report.findings] == list(CHECKS)


def test_a_check_that_fails_itself_takes_no_other_with_it(machine: Any) -> None:
    machine.package.rmdir()
    machine.package.symlink_to(machine.package.name)  # a loop: not even its folder can be listed
    (machine.root / "dev").write_text("a file")
    report = without_npu(machine)
    assert [finding.check for finding in report.findings] == list(CHECKS)


@pytest.mark.parametrize("device", ["", "gpu", "npu:", "npu:x", "cpu:1", "NPU"])
def test_devices_that_are_none(machine: Any, device: str) -> None:
    machine.variables["ASCEND_INFER_DEVICE"] = "auto"
    with pytest.raises(InvalidOptionError) as caught:
        without_npu(machine, device=device)
    assert (caught.value.option, caught.value.got) == ("device", device)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_time_limits_that_are_none(machine: Any, seconds: float) -> None:
    with pytest.raises(InvalidOptionError):
        examine(environment=machine.environment(), time_limit=seconds)


def test_json_has_plain_types_and_stable_keys() -> None:
    finding = Finding("driver", Verdict.PROBLEM, "s", (Evidence("a", "b\udc80"),), ("do",))
    report = Report((finding,), "cpu", ("text",))
    data = json.loads(json.dumps(report.to_dict()))
    assert list(data) == ["schema", "ascend_infer", "usable", "device", "conclusion", "checks"]
    assert data["checks"] == [
        {
            "check": "driver",
            "verdict": "problem",
            "summary": "s",
            "evidence": [{"name": "a", "value": "b\udc80"}],
            "remedy": ["do"],
        }
    ]
    assert data["usable"] is False


def test_warnings_are_no_reason_to_fail() -> None:
    assert Report((Finding("x", Verdict.WARNING, "s"),), "cpu", ()).exit_code == 0
    assert Report((), "none", ()).exit_code == 1


def test_what_logs_hold_does_not_steer_the_terminal() -> None:
    evil = Finding("device_log", Verdict.WARNING, "a\x1b[2Jb", (Evidence("error", "c\rd\ne\x07"),))
    text = Report((evil,), "cpu", ()).to_text()
    assert not set(text) & {"\x1b", "\r", "\x07"}
    assert "\\x1b[2J" in text
