from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_infer.doctor.environment import Environment


def test_links_are_followed_inside_the_root(machine: Any) -> None:
    machine.write("/usr/local/Ascend/cann-8.5/lib64/libacl_rt.so")
    base = machine.root / "usr/local/Ascend"
    (base / "cann").symlink_to("cann-8.5")
    (base / "absolute").symlink_to("/usr/local/Ascend/cann")
    (base / "above").symlink_to("../../../../usr/local/Ascend/cann")
    environment = machine.environment()
    for name in ("cann", "absolute", "above"):
        inner = f"/usr/local/Ascend/{name}/lib64/libacl_rt.so"
        assert environment.resolve(inner) == "/usr/local/Ascend/cann-8.5/lib64/libacl_rt.so"
        assert environment.is_file(inner)


def test_a_loop_of_links_is_no_file(machine: Any) -> None:
    (machine.root / "a").symlink_to("b")
    (machine.root / "b").symlink_to("a")
    environment = machine.environment()
    assert not environment.is_file("/a")
    assert environment.read_text("/a") is None
    assert environment.list_dir("/a") == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "..", ".", "link", ""]), max_size=6))
def test_resolution_is_the_kernels(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    root = tmp_path_factory.getbasetemp() / "resolution"
    if not root.exists():
        (root / "a" / "b").mkdir(parents=True)
        (root / "a" / "link").symlink_to("../a/b")
        (root / "link").symlink_to("a/link")
    environment = Environment(root, {}, 0, frozenset(), "x86_64", "Linux", "", (), root)
    steps: list[str] = []
    for part in parts:  # the kernel's own view must not climb above our root
        if part == ".." and not any(step not in ("", ".") for step in steps):
            continue
        steps.append(part)
    real = os.path.realpath(os.path.join(root, *steps))
    if not real.startswith(str(root)):
        return
    assert str(environment.locate(environment.resolve("/" + "/".join(steps)))).rstrip("/") == real


@pytest.mark.parametrize(
    ("mode", "uid", "gids", "may"),
    [
        (0o660, "other", "other", False),
        (0o660, "other", "own", True),
        (0o640, "other", "own", False),
        (0o606, "other", "other", True),
        (0o060, "own", "own", False),
        (0o600, "own", "other", True),
        (0o000, "root", "other", True),
    ],
)
def test_the_mode_decides_who_may_open(machine: Any, mode: int, uid: str, gids: str, may: bool) -> None:
    status = os.stat(machine.write("/dev/davinci0", mode=mode))
    users = {"own": status.st_uid or 0, "other": status.st_uid + 1000, "root": 0}
    if uid == "own" and status.st_uid == 0:
        users["own"] = 0
        may = True  # root may everything
    groups = {"own": frozenset({status.st_gid}), "other": frozenset({status.st_gid + 1000})}
    environment = machine.environment(uid=users[uid], gids=groups[gids])
    assert environment.may_read_and_write("/dev/davinci0") is may


def test_group_names_come_from_the_machine(machine: Any) -> None:
    machine.write("/etc/group", "root:x:0:\nHwHiAiUser:x:1001:me\n")
    assert machine.environment().group_name(1001) == "HwHiAiUser"
    assert machine.environment().group_name(7) == "7"


def test_the_current_machine_is_this_process() -> None:
    environment = Environment.current()
    assert environment.is_whole_machine
    assert environment.uid == os.geteuid()
    assert environment.variables == os.environ
    assert (environment.package_path / "types.py").is_file()
    assert environment.locate("/dev/null") == environment.locate(environment.inner("/dev/null"))
