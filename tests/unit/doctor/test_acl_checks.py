"""The ACL library and the runtime: loaded and started in child processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_infer.doctor.checks import CHECKS
from ascend_infer.doctor.finding import Finding, Verdict
from ascend_infer.doctor.prober import ProbeLimits
from ascend_infer.doctor.symbols import OPTIONAL, REQUIRED, library_half
from ascend_infer.doctor.symptoms import symptom_of

Acl = Callable[..., Path]
CANN = "/usr/local/Ascend/cann"


def look(examination: Any, check: str = "acl_library") -> Finding:
    finding = CHECKS[check](examination)
    assert finding.verdict is not Verdict.PROBLEM or finding.remedy
    return finding


def evidence(finding: Finding) -> str:
    return "\n".join(f"{item.name}: {item.value}" for item in finding.evidence)


def test_a_card_that_works(machine: Any, acl_library: Acl) -> None:
    machine.working(acl_library(), count=2)
    examination = machine.examination(model_soc="Ascend310P1")
    for name in (
        "device_nodes",
        "driver",
        "cann",
        "acl_library",
        "versions",
        "runtime",
        "optional_functions",
    ):
        finding = look(examination, name)
        assert finding.verdict is Verdict.OK, finding
    assert "2 x Ascend310P3, 3,072 of 4,096 MiB free" in look(examination, "runtime").summary
    assert examination.device_count == 2
    assert not examination.npu_usable  # this package has no extension


def test_a_missing_link_of_the_chain_is_named(machine: Any, compile_library: Any) -> None:
    lost = compile_library("int lost(void) { return 1; }", "-Wl,-soname,libascend_dump.so")
    (lost.parent / "libascend_dump.so").write_bytes(lost.read_bytes())
    library = compile_library(
        "int lost(void); int aclInit(void) { return lost(); }", f"-L{lost.parent}", "-lascend_dump"
    )
    machine.working(library)
    finding = look(machine.examination())
    assert finding.verdict is Verdict.PROBLEM
    assert "libascend_dump.so missing" in finding.summary
    assert "cannot open shared object file" in evidence(finding)
    assert "needed by" in evidence(finding)


def test_an_undefined_symbol_is_a_mixture(machine: Any, compile_library: Any) -> None:
    machine.working(compile_library("int nowhere(void); int aclInit(void) { return nowhere(); }"))
    finding = look(machine.examination())
    assert finding.verdict is Verdict.PROBLEM
    assert "undefined symbol: nowhere" in finding.summary
    assert "mixed" in finding.remedy[0]


def test_a_file_that_is_no_library(machine: Any, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("version https://git-lfs.github.com/spec/v1\n")
    machine.working(text)
    finding = look(machine.examination())
    assert finding.verdict is Verdict.PROBLEM
    assert "not an ELF file" in evidence(finding)


def test_stub_libraries_before_the_real_ones(machine: Any, acl_library: Acl) -> None:
    library = acl_library()
    machine.working(library)
    machine.write(f"{CANN}/devlib/libascendcl.so", library.read_bytes())
    machine.add_to_path(f"{CANN}/devlib")
    finding = look(machine.examination())
    assert finding.verdict is Verdict.PROBLEM
    assert f"{CANN}/devlib/libascendcl.so" in finding.summary


def test_nothing_but_stubs(machine: Any, acl_library: Acl) -> None:
    machine.write("/opt/cann/x86_64-linux/devlib/libascendcl.so", acl_library().read_bytes())
    machine.add_to_path("/opt/cann/x86_64-linux/devlib")
    assert look(machine.examination()).verdict is Verdict.WARNING
    machine.nodes()
    finding = look(machine.examination())
    assert finding.verdict is Verdict.PROBLEM
    assert "only stub" in finding.summary


def test_a_named_library_that_is_not_there(machine: Any) -> None:
    machine.variables["ASCEND_INFER_ACL_LIBRARY"] = "/opt/none.so"
    finding = look(machine.examination())
    assert finding.verdict is Verdict.PROBLEM
    assert "/opt/none.so" in finding.summary


def test_a_named_folder_or_pipe_is_told_apart_from_nothing(machine: Any) -> None:
    (machine.root / "opt").mkdir()
    os.mkfifo(machine.root / "opt" / "pipe")
    for path, words in {"/opt": "is a folder without libascendcl.so", "/opt/pipe": "is a pipe"}.items():
        machine.variables["ASCEND_INFER_ACL_LIBRARY"] = path
        assert f"{path} {words}" in look(machine.examination()).summary


def test_a_library_that_has_next_to_nothing_counts_no_device(machine: Any, compile_library: Any) -> None:
    machine.working(compile_library("int aclInit(const char *c) { return 0; }"))
    finding = look(machine.examination(), "runtime")
    assert finding.verdict is Verdict.PROBLEM
    assert finding.summary == "aclrtGetDeviceCount: the library has no such function"


def halves(acl_library: Acl) -> dict[str, Path]:
    names = (*REQUIRED, *(name for group in OPTIONAL.values() for name in group))
    return {
        half: acl_library(names=[name for name in names if library_half(name) == half])
        for half in ("libacl_rt.so", "libacl_mdl.so")
    }


def test_split_libraries(machine: Any, acl_library: Acl) -> None:
    machine.nodes()
    machine.driver()
    machine.cann(version="8.5.0", files=halves(acl_library))
    machine.use_cann()
    examination = machine.examination()
    finding = look(examination)
    assert finding.verdict is Verdict.OK
    assert "libacl_rt.so + libacl_mdl.so" in finding.summary
    assert look(examination, "runtime").verdict is Verdict.OK


@pytest.mark.parametrize("facade", [True, False])
def test_split_libraries_without_the_model_half(machine: Any, acl_library: Acl, facade: bool) -> None:
    runtime_half = halves(acl_library)["libacl_rt.so"]
    machine.nodes()
    machine.driver()
    files = {"libacl_rt.so": runtime_half} | ({"libascendcl.so": runtime_half} if facade else {})
    machine.cann(version="8.5.0", files=files)
    machine.use_cann()
    finding = look(machine.examination())
    assert finding.verdict is Verdict.PROBLEM
    assert "ge-executor" in finding.summary


def test_libraries_of_two_versions_loaded_together(
    machine: Any, compile_library: Any, acl_library: Acl
) -> None:
    other = compile_library("int runtime(void) { return 0; }", "-Wl,-soname,libruntime.so")
    (other.parent / "libruntime.so").write_bytes(other.read_bytes())
    base = acl_library()
    library = compile_library(
        (base.parent / f"{base.stem}.c").read_text()
        + "\nint runtime(void); int use(void) { return runtime(); }",
        f"-L{other.parent}",
        "-lruntime",
    )
    machine.working(library)
    machine.cann("/opt/Ascend/cann", "8.5.0", {"libruntime.so": other})
    machine.add_to_path("/opt/Ascend/cann/lib64")
    finding = look(machine.examination())
    assert finding.verdict is Verdict.PROBLEM
    assert "8.0.0" in finding.summary
    assert "8.5.0" in finding.summary


def test_another_library_of_that_name(machine: Any, compile_library: Any) -> None:
    machine.working(compile_library("int something(void) { return 0; }"))
    finding = look(machine.examination())
    assert finding.verdict is Verdict.PROBLEM
    assert f"{len(REQUIRED)} required functions" in finding.summary


def test_newer_functions_that_are_absent_are_named_with_their_release(machine: Any, acl_library: Acl) -> None:
    machine.working(acl_library(names=(*REQUIRED, *OPTIONAL["5.0"])))
    examination = machine.examination()
    assert look(examination).verdict is Verdict.OK
    finding = look(examination, "optional_functions")
    assert finding.verdict is Verdict.OK
    assert "CANN 8.5: aclFinalizeReference" in evidence(finding)
    assert "CANN 5.0" not in evidence(finding)


@pytest.mark.parametrize(
    ("function", "code", "words"),
    [
        ("int aclInit(const char *c) { return 100039; }", 100039, "stub"),
        ("int aclInit(const char *c) { return 500000; }", 500000, "driver"),
        ("int aclrtGetDeviceCount(uint32_t *n) { return 207004; }", 207004, "ASCEND_RT_VISIBLE_DEVICES"),
        ("int aclrtSetDevice(int d) { return 507033; }", 507033, "CANN do not match"),
        ("int aclrtMalloc(void **p, size_t n, int k) { return 207001; }", 207001, "memory is full"),
        ("int aclrtSetDevice(int d) { return 599999; }", 599999, "hardware"),
    ],
)
def test_codes_are_explained(machine: Any, acl_library: Acl, function: str, code: int, words: str) -> None:
    name = function.split("(")[0].split()[-1].lstrip("*")
    machine.working(acl_library({name: function}))
    examination = machine.examination()
    finding = look(examination, "runtime")
    assert finding.verdict is Verdict.PROBLEM
    assert str(code) in finding.summary
    assert words in finding.summary
    assert "said by the runtime" in evidence(finding)
    assert examination.device_count == 0


def test_a_driver_that_may_be_too_old_is_shown_with_its_cann(machine: Any, acl_library: Acl) -> None:
    machine.working(acl_library({"aclrtSetDevice": "int aclrtSetDevice(int d) { return 507899; }"}))
    finding = look(machine.examination(), "runtime")
    assert "driver 24.1.rc3 with CANN 8.0.0" in evidence(finding)


def test_no_device_counted_without_any_sign_of_one_is_only_a_warning(machine: Any, acl_library: Acl) -> None:
    none = "int aclrtGetDeviceCount(uint32_t *n) { *n = 0; return 0; }"
    machine.cann(files={"libascendcl.so": acl_library({"aclrtGetDeviceCount": none})})
    machine.use_cann()
    assert look(machine.examination(), "runtime").verdict is Verdict.WARNING


def test_bytes_that_come_back_changed(machine: Any, acl_library: Acl) -> None:
    spoiled = (
        "int aclrtMemcpy(void *d, size_t m, const void *s, size_t n, int k) { memset(d, 0, n); return 0; }"
    )
    machine.working(acl_library({"aclrtMemcpy": spoiled}))
    finding = look(machine.examination(), "runtime")
    assert finding.verdict is Verdict.PROBLEM
    assert "other bytes" in finding.summary


def test_a_card_without_hbm_reports_its_ddr(machine: Any, acl_library: Acl) -> None:
    ddr = (
        "int aclrtGetMemInfo(int kind, size_t *f, size_t *t)"
        " { *f = *t = kind == 0 ? (size_t)1 << 30 : 0; return 0; }"
    )
    machine.working(acl_library({"aclrtGetMemInfo": ddr}))
    assert "1,024 of 1,024 MiB" in look(machine.examination(), "runtime").summary


@pytest.mark.parametrize(
    ("body", "words"), [("abort();", "SIGABRT"), ("_exit(0);", "no answer"), ("for (;;) pause();", "hung")]
)
def test_a_runtime_that_breaks_its_process(machine: Any, acl_library: Acl, body: str, words: str) -> None:
    machine.working(acl_library({"aclInit": f"int aclInit(const char *c) {{ {body} return 0; }}"}))
    machine.write("/root/ascend/log/debug/plog/plog-1_1.log", "[ERROR] RUNTIME why\n")
    examination = machine.examination(limits=ProbeLimits(start=60, step=1.5))
    assert look(examination).verdict is Verdict.OK
    finding = look(examination, "runtime")
    assert finding.verdict is Verdict.PROBLEM
    assert words in finding.summary
    assert "aclInit" in finding.summary
    assert look(examination, "device_log").verdict is Verdict.WARNING


def test_a_library_that_breaks_while_it_loads_is_not_started(machine: Any, acl_library: Acl) -> None:
    machine.working(acl_library(extra="__attribute__((constructor)) void stop(void) { abort(); }"))
    examination = machine.examination()
    finding = look(examination)
    assert finding.verdict is Verdict.PROBLEM
    assert "SIGABRT" in finding.summary
    assert look(examination, "runtime").verdict is Verdict.NOT_APPLICABLE


def test_required_and_optional_functions_are_those_of_the_api_list() -> None:
    listed: dict[str, tuple[str, str]] = {}
    source = Path(__file__).parents[3] / "_ext" / "acl_api.txt"
    for line in source.read_text().splitlines():
        if line.startswith(("required ", "optional ")):
            kind, release = line.split()[:2]
            listed[line.split("(")[0].split()[-1].lstrip("*")] = (kind, release)
    assert {name for name in REQUIRED if listed[name][0] != "required"} == set()
    for release, names in OPTIONAL.items():
        assert {name: listed[name] for name in names} == dict.fromkeys(names, ("optional", release))


@pytest.mark.parametrize(("code", "words"), [(145123, "GE"), (207099, "resources"), (999999, "unknown kind")])
def test_unknown_codes_are_told_by_their_digits(code: int, words: str) -> None:
    assert words in symptom_of(code).cause


def test_what_works_without_the_loaders_path_needs_no_mending(machine: Any, acl_library: Acl) -> None:
    machine.working(acl_library())
    machine.variables["LD_LIBRARY_PATH"] = "/elsewhere"
    examination = machine.examination()
    assert look(examination, "driver").verdict is Verdict.WARNING
    assert look(examination, "cann").verdict is Verdict.WARNING
    machine.variables["ASCEND_OPP_PATH"] = "/elsewhere"  # models would still fail
    assert look(machine.examination(), "cann").verdict is Verdict.PROBLEM
