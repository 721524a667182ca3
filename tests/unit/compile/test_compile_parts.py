"""The compiler's place and output, the cache's folder, the lock."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest
from stand_in_atc import StandInAtc

from ascend_infer.compile import soc_of_this_machine
from ascend_infer.compile.cache import CacheEntry, cache_folder
from ascend_infer.compile.compiler_output import ProgressLog, compiler_errors
from ascend_infer.compile.find_atc import find_atc
from ascend_infer.compile.lock import file_lock
from ascend_infer.doctor.bounded_process import Deadline
from ascend_infer.doctor.environment import Environment


def machine(root: Path, **variables: str) -> Environment:
    return replace(Environment.current(), root=root, variables={"HOME": "/home/u", **variables})


@pytest.mark.parametrize("place", ["bin", "compiler/bin", "atc/bin"])
def test_the_compiler_is_found_in_an_installed_cann(tmp_path: Path, place: str) -> None:
    root = tmp_path / "usr/local/Ascend/ascend-toolkit/latest"
    atc = StandInAtc(root / place)
    (root / "version.cfg").write_text("runtime_running_version=[7.6.0.1.220:8.0.0]\n")
    found = find_atc(machine(tmp_path))
    assert found.path == str(atc.path)
    assert found.version == "8.0.0"
    variables = found.variables(machine(tmp_path, LD_LIBRARY_PATH="/mine"))
    assert variables["ASCEND_OPP_PATH"] == f"{root}/opp"
    assert variables["LD_LIBRARY_PATH"].split(":") == [f"{root}/lib64", "/mine"]


def test_the_path_goes_first_and_a_set_environment_stays(tmp_path: Path) -> None:
    first = StandInAtc(tmp_path / "mine" / "bin")
    StandInAtc(tmp_path / "usr/local/Ascend/cann/bin")
    environment = machine(Path("/"), PATH=str(first.folder), ASCEND_OPP_PATH="/opp")
    found = find_atc(environment)
    assert found.path == str(first.path)
    assert found.version == "unknown"
    assert found.variables(environment) == dict(environment.variables)


def test_where_the_cache_is(tmp_path: Path) -> None:
    assert cache_folder({"ASCEND_INFER_CACHE": "/c", "XDG_CACHE_HOME": "/x"}) == Path("/c")
    assert cache_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/ascend_infer")
    assert cache_folder({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "ascend_infer"
    assert cache_folder({}, tmp_path) == tmp_path


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/repo/resnet50/3/model.onnx", "resnet50"), ("/a/net.onnx", "net"), ("/a/ä b/..onnx", "model"),
        (f"/a/{'x' * 300}.onnx", "x" * 60),
    ],
)  # fmt: skip
def test_entries_have_readable_names(path: str, name: str) -> None:
    assert CacheEntry.of(Path("/c"), Path(path), "key").name == f"{name}-key"


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    path.touch()
    other = os.open(path, os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            os.close(other)

    told: list[str] = []
    with file_lock(path, Deadline(60), on_wait=lambda: told.append("waiting"), pause=pause) as held:
        assert held
    assert len(waits) == 3
    assert told == ["waiting"]


def test_a_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with file_lock(tmp_path / "x.lock", Deadline(60)) as held:
        assert not held
    assert "has no locks" in caplog.text


def test_progress_is_told_line_by_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ascend_infer.compile")
    log = ProgressLog()
    for piece in (b"ATC st", b"art\n..", b"..\nhalf \xff", b"\x1b[31m red\x07\n", b"x" * 9000, b"\nend"):
        log(piece)
    log.close()
    log.close()
    assert caplog.messages[:2] == ["atc: ATC start", "atc: half � red"]
    assert caplog.messages[-1] == "atc: end"
    assert max(map(len, caplog.messages)) < 4200


def test_a_compiler_without_codes_is_quoted_at_its_end() -> None:
    text = "\n".join(f"line {n}" for n in range(50))
    assert compiler_errors(text).splitlines()[0] == "line 38"
    assert compiler_errors("...\n") == ""
    assert compiler_errors("noise\nE10001: bad\n  Solution: mend it\n") == "E10001: bad\n  Solution: mend it"


def test_a_machine_without_a_card_has_no_chip(tmp_path: Path) -> None:
    assert soc_of_this_machine(machine(tmp_path)) is None
