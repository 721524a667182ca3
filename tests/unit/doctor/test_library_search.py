from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.doctor.cann_root import find_cann_roots, parse_version, root_of
from ascend_infer.doctor.loader_path import loader_directories, stub_reason
from ascend_infer.doctor.search import SEARCH_STEPS, search_acl_library

MakeElf = Callable[..., bytes]
CANN = "/usr/local/Ascend/cann"


def test_every_step_says_why_it_found_nothing(machine: Any) -> None:
    search = search_acl_library(machine.environment())
    assert search.path is None
    assert search.found_via is None
    assert len(search.steps) == len(SEARCH_STEPS)
    assert all(step.reason for step in search.steps)


def test_the_named_library_comes_first(machine: Any, make_elf: MakeElf) -> None:
    machine.cann()
    machine.write("/opt/mine/libascendcl.so", make_elf())
    for value in ("/opt/mine/libascendcl.so", "/opt/mine"):
        machine.variables["ASCEND_INFER_ACL_LIBRARY"] = value
        search = search_acl_library(machine.environment())
        assert search.path == "/opt/mine/libascendcl.so"
        assert search.found_via == "ASCEND_INFER_ACL_LIBRARY"


@pytest.mark.parametrize("value", ["/opt/none/libascendcl.so", f"{CANN}/devlib/libascendcl.so"])
def test_a_named_library_that_will_not_do_ends_the_search(
    machine: Any, make_elf: MakeElf, value: str
) -> None:
    machine.cann()
    machine.write(f"{CANN}/devlib/libascendcl.so", make_elf())
    machine.variables["ASCEND_INFER_ACL_LIBRARY"] = value
    search = search_acl_library(machine.environment())
    assert search.path is None
    assert len(search.steps) == 1
    assert value in search.steps[0].reason


def test_a_library_that_is_loaded_already_is_taken(machine: Any, make_elf: MakeElf) -> None:
    machine.cann()
    machine.write(
        "/proc/self/maps",
        "7f0 r--p 0 08:01 1   /usr/lib/libc.so.6\n7f1 r-xp 0 08:01 2   /opt/torch/lib64/libascendcl.so\n",
    )
    search = search_acl_library(machine.environment())
    assert search.path == "/opt/torch/lib64/libascendcl.so"
    assert search.found_via == "already loaded"


def test_roots_are_searched_in_the_order_of_cann_itself(machine: Any) -> None:
    for root, version in (
        ("/opt/Ascend/cann", "1"),
        ("/usr/local/Ascend/ascend-toolkit/latest", "2"),
        ("/x", "3"),
    ):
        machine.cann(root, version)
    paths = [root.path for root in find_cann_roots(machine.environment())]
    assert paths == ["/usr/local/Ascend/ascend-toolkit/latest", "/opt/Ascend/cann"]
    machine.variables["ASCEND_HOME_PATH"] = "/x/"
    roots = find_cann_roots(machine.environment())
    assert (roots[0].path, roots[0].version) == ("/x", "3")
    assert search_acl_library(machine.environment()).path == "/x/lib64/libascendcl.so"


def test_one_installation_under_two_names_counts_once(machine: Any) -> None:
    machine.cann("/usr/local/Ascend/cann-8.5.0")
    (machine.root / "usr/local/Ascend/cann").symlink_to("cann-8.5.0")
    machine.variables["ASCEND_HOME_PATH"] = "/usr/local/Ascend/cann-8.5.0"
    assert len(find_cann_roots(machine.environment())) == 1


def test_split_libraries_are_found_together(machine: Any, make_elf: MakeElf) -> None:
    machine.cann(files={"libacl_rt.so": make_elf(), "libacl_mdl.so": make_elf()})
    environment = machine.environment()
    search = search_acl_library(environment)
    names = [path.rsplit("/", 1)[-1] for path in search.libraries(environment)]
    assert names == ["libacl_rt.so", "libacl_mdl.so"]


def test_stubs_are_refused_by_name_and_the_linkers_path_comes_last(machine: Any, make_elf: MakeElf) -> None:
    machine.write("/opt/dev/devlib/linux/x86_64/libascendcl.so", make_elf())
    machine.write("/opt/real/libascendcl.so", make_elf())
    machine.add_to_path("/opt/real")
    machine.add_to_path("/opt/dev/devlib/linux/x86_64")
    search = search_acl_library(machine.environment())
    assert search.path == "/opt/real/libascendcl.so"
    assert search.found_via == "linker's default"
    assert search.stubs == ("/opt/dev/devlib/linux/x86_64/libascendcl.so",)


def test_a_link_into_a_stub_folder_is_a_stub(machine: Any, make_elf: MakeElf) -> None:
    machine.write("/opt/x/stub/libascendcl.so", make_elf())
    machine.write("/opt/y/libother.so", make_elf())
    (machine.root / "opt/y/libascendcl.so").symlink_to("../x/stub/libascendcl.so")
    environment = machine.environment()
    assert "stub" in (stub_reason(environment, "/opt/y/libascendcl.so") or "")
    assert stub_reason(environment, "/opt/y/libother.so") is None


def test_ld_so_conf_and_what_it_includes(machine: Any) -> None:
    machine.write("/etc/ld.so.conf", "include ld.so.conf.d/*.conf  # rest\n/opt/direct\n")
    machine.write(
        "/etc/ld.so.conf.d/ascend.conf", "/usr/local/Ascend/driver/lib64\ninclude /etc/ld.so.conf\n"
    )
    machine.variables["LD_LIBRARY_PATH"] = "/first::/second"
    directories = {item.path: item.origin for item in loader_directories(machine.environment())}
    assert list(directories)[:4] == ["/first", "/second", "/opt/direct", "/usr/local/Ascend/driver/lib64"]
    assert directories["/usr/local/Ascend/driver/lib64"] == "/etc/ld.so.conf.d/ascend.conf"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("# version: 1.0\nruntime_running_version=[7.6.0.1.220:8.0.0]\n", "8.0.0"),
        ("compiler_running_version=[7.5:8.0.RC3]\n", "8.0.RC3"),
        ("runtime_running_version=[8.2]\n", "8.2"),
        ("Version=1.83.T8.0.B128\n", "1.83.T8.0.B128"),
        ("version = 9.0.0 \n", "9.0.0"),
        ("", None),
        ("Version=\n", None),
        ("nothing here", None),
    ],
)
def test_version_files_of_every_age(text: str, version: str | None) -> None:
    assert parse_version(text) == version


@given(st.text())
def test_any_text_is_read_as_a_version_file(text: str) -> None:
    version = parse_version(text)
    assert version is None or version.strip() == version


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/usr/local/Ascend/cann-8.5.1/lib64", "/usr/local/Ascend/cann-8.5.1"),
        ("/usr/local/Ascend/ascend-toolkit/latest/x86_64-linux/lib64/libruntime.so",
         "/usr/local/Ascend/ascend-toolkit/latest"),
        ("/usr/local/Ascend/ascend-toolkit/8.0.0/opp/", "/usr/local/Ascend/ascend-toolkit/8.0.0"),
        ("/opt/cann/runtime/lib64", "/opt/cann"),
        ("/elsewhere", "/elsewhere"),
    ],
)  # fmt: skip
def test_the_installation_a_path_belongs_to(path: str, root: str) -> None:
    assert root_of(path) == root
