"""Compiling once, whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx_models
import pytest
from child import HELPERS
from stand_in_atc import StandInAtc, stand_in_atc

from ascend_infer import om
from ascend_infer.compile import compile_onnx, compiler
from ascend_infer.compile.cache import CacheEntry
from ascend_infer.config import ModelConfig
from ascend_infer.errors import AclTimeoutError, InvalidOptionError, ModelFileError, ModelLoadError

__all__ = ["stand_in_atc"]

SOC = "Ascend310P3"
BATCHED = ModelConfig(max_batch_size=4)


@pytest.fixture
def onnx(tmp_path: Path) -> Path:
    return onnx_models.write(onnx_models.scale(2.0), tmp_path / "scale.onnx")


def left_in(folder: Path) -> list[str]:
    """What stands in the cache, locks aside."""
    return sorted(p.name for p in (folder / "compiled").iterdir() if p.suffix != ".lock")


def test_a_model_is_compiled_once(stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path) -> None:
    path = compile_onnx(onnx, config=BATCHED, soc=SOC)
    model = om.read(path)
    assert [gear.values for gear in model.gears] == [(1,), (2,), (4,)]
    assert model.simulator is not None
    assert model.simulator["soc"] == SOC
    assert path.is_relative_to(tmp_path / "cache" / "compiled")
    assert path.parent.name.startswith("scale-")
    assert sorted(p.name for p in path.parent.iterdir()) == ["compiled.json", "model.om"]
    assert compile_onnx(onnx, config=BATCHED, soc=SOC) == path
    assert len(stand_in_atc.runs) == 1
    assert stand_in_atc.options() == {
        "model": str(onnx), "framework": "5", "soc_version": SOC, "input_shape": "x:-1,4",
        "dynamic_batch_size": "1,2,4", "output": str(stand_in_atc.folders[0] / "model"),
    }  # fmt: skip
    assert not stand_in_atc.folders[0].exists()
    assert left_in(tmp_path / "cache") == [path.parent.name]


def test_what_the_result_depends_on_is_in_its_key(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path
) -> None:
    first = compile_onnx(onnx, config=BATCHED, soc=SOC)
    moved = tmp_path / "elsewhere" / "scale.onnx"
    moved.parent.mkdir()
    moved.write_bytes(onnx.read_bytes())
    assert compile_onnx(moved, config=BATCHED, soc=SOC) == first
    others = [
        compile_onnx(onnx, config=BATCHED, soc="Ascend310B4"),
        compile_onnx(onnx, config=ModelConfig(max_batch_size=8), soc=SOC),
        compile_onnx(onnx, config=BATCHED, soc=SOC, cann_version="8.0.0"),
        compile_onnx(onnx, config=BATCHED, soc=SOC, options={"precision_mode": "force_fp16"}),
        compile_onnx(onnx_models.write(onnx_models.scale(3.0), onnx), config=BATCHED, soc=SOC),
    ]
    assert len({first, *others}) == 6
    assert len(stand_in_atc.runs) == 6


def test_a_file_that_an_option_names_is_in_the_key_by_its_content(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path
) -> None:
    aipp = tmp_path / "aipp.cfg"
    aipp.write_text("aipp_op {}")
    first = compile_onnx(onnx, soc=SOC, options={"--insert_op_conf": "aipp.cfg"})
    assert stand_in_atc.options()["insert_op_conf"] == str(aipp)
    aipp.write_text("aipp_op { aipp_mode: static }")
    assert compile_onnx(onnx, soc=SOC, options={"insert_op_conf": "aipp.cfg"}) != first
    with pytest.raises(InvalidOptionError, match=r"gone\.cfg is no file"):
        compile_onnx(onnx, soc=SOC, options={"insert_op_conf": "gone.cfg"})


def test_the_compilers_own_errors_are_shown(stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path) -> None:
    stand_in_atc.behave("fail")
    with pytest.raises(ModelLoadError) as caught:
        compile_onnx(onnx, config=BATCHED, soc=SOC)
    text = str(caught.value)
    assert caught.value.path == str(onnx)
    for words in (
        "exit code 1",
        "E20001: Failed to compile Op [/head/Slice_5]",
        "Solution:",
        "--soc_version",
    ):
        assert words in text
    for noise in ("PID", "13:02:36", "ge_generator.cc", "start working"):
        assert noise not in text
    assert text.count("build graph failed") == 1
    assert left_in(tmp_path / "cache") == []
    stand_in_atc.behave("compile")
    assert compile_onnx(onnx, config=BATCHED, soc=SOC).is_file()


@pytest.mark.parametrize(
    ("behaviour", "error", "words"),
    [
        ("crash", ModelLoadError, "killed by SIGKILL, as the kernel does when memory runs out"),
        ("silent", ModelLoadError, "wrote no model"),
        ("garbage", ModelFileError, "what atc wrote is no model"),
    ],
)
def test_a_compiler_that_goes_wrong(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path, behaviour: str, error: type[Exception], words: str
) -> None:
    stand_in_atc.behave(behaviour)
    with pytest.raises(error, match=words):
        compile_onnx(onnx, soc=SOC)
    assert left_in(tmp_path / "cache") == []


def test_the_hosts_system_in_the_files_name(stand_in_atc: StandInAtc, onnx: Path) -> None:
    stand_in_atc.behave("host name")
    assert compile_onnx(onnx, soc=SOC).name == "model.om"


def test_external_weights_come_along(stand_in_atc: StandInAtc, onnx: Path) -> None:
    stand_in_atc.behave("external weights")
    path = compile_onnx(onnx, soc=SOC, options={"external_weight": "1"})
    assert (path.parent / "weight" / "w0").read_bytes() == b"1234"


def test_a_compiler_that_hangs_is_stopped_with_all_it_started(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path
) -> None:
    stand_in_atc.behave("hang")
    with pytest.raises(ModelLoadError, match="did not finish within 3 s"):
        compile_onnx(onnx, soc=SOC, timeout=3.0)
    assert not stand_in_atc.is_alive()
    assert left_in(tmp_path / "cache") == []


class Interrupting(logging.Handler):
    """Presses Ctrl-C when the compiler says a word."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word

    def emit(self, record: logging.LogRecord) -> None:
        if self._word in record.getMessage():
            signal.raise_signal(signal.SIGINT)


@contextmanager
def interrupted_at(word: str) -> Iterator[None]:
    logger = logging.getLogger("ascend_infer.compile")
    handler, level = Interrupting(word), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    # A shell that starts the tests in the background ignores Ctrl-C for all below it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        logger.removeHandler(handler)
        logger.setLevel(level)


def test_ctrl_c_stops_the_compiler_and_leaves_nothing(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path
) -> None:
    stand_in_atc.behave("hang")
    with interrupted_at("hanging now"), pytest.raises(KeyboardInterrupt):
        compile_onnx(onnx, soc=SOC)
    assert not stand_in_atc.is_alive()
    assert left_in(tmp_path / "cache") == []


def test_threads_that_ask_at_once_compile_once(stand_in_atc: StandInAtc, onnx: Path) -> None:
    barrier = threading.Barrier(4)
    found: list[object] = []

    def ask() -> None:
        barrier.wait()
        try:
            found.append(compile_onnx(onnx, config=BATCHED, soc=SOC))
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stand_in_atc.runs) == 1
    assert len(set(found)) == 1
    assert isinstance(found[0], Path)


def test_processes_that_ask_at_once_compile_once(stand_in_atc: StandInAtc, onnx: Path) -> None:
    code = f"from ascend_infer.compile import compile_onnx; print(compile_onnx({str(onnx)!r}, soc={SOC!r}))"
    environment = {**os.environ, "PYTHONPATH": HELPERS}
    children = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    answers = [child.communicate(timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert len(set(answers)) == 1
    assert len(stand_in_atc.runs) == 1


def test_whoever_crashed_while_compiling_blocks_nobody(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path
) -> None:
    stand_in_atc.behave("hang")
    # Dies at once, as by the kernel's hand, while it holds the lock and the compiler is at work.
    code = f"""
import logging, os, signal
class Dying(logging.Handler):
    def emit(self, record):
        if "hanging now" in record.getMessage():
            os.kill(os.getpid(), signal.SIGKILL)
logging.getLogger("ascend_infer.compile").addHandler(Dying())
logging.getLogger("ascend_infer.compile").setLevel(logging.INFO)
from ascend_infer.compile import compile_onnx
compile_onnx({str(onnx)!r}, soc={SOC!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, env={**os.environ, "PYTHONPATH": HELPERS}
    )
    assert done.returncode == -signal.SIGKILL
    assert [name for name in left_in(tmp_path / "cache") if name.startswith(".scale-")]
    try:
        stand_in_atc.behave("compile")
        path = compile_onnx(onnx, soc=SOC)
        assert left_in(tmp_path / "cache") == [path.parent.name]
    finally:
        for pid in (stand_in_atc.folder / "pids").read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def test_waiting_for_another_process_has_a_limit_too(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path
) -> None:
    path = compile_onnx(onnx, soc=SOC)
    entry = path.parent
    (path).unlink()
    with open(entry.with_name(entry.name + ".lock")) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ModelLoadError, match="another process has been compiling it"):
            compile_onnx(onnx, soc=SOC, timeout=0.2)
    assert compile_onnx(onnx, soc=SOC) == path


def test_a_damaged_entry_is_made_again(stand_in_atc: StandInAtc, onnx: Path) -> None:
    path = compile_onnx(onnx, soc=SOC)
    path.write_bytes(path.read_bytes()[:100])
    assert compile_onnx(onnx, soc=SOC) == path
    om.read(path)
    assert len(stand_in_atc.runs) == 2


def test_a_cache_that_cannot_be_written(stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(ModelLoadError, match="the cache cannot be written") as caught:
        compile_onnx(onnx, soc=SOC)
    assert "ASCEND_INFER_CACHE" in str(caught.value)
    assert compile_onnx(onnx, soc=SOC, cache_dir=tmp_path / "another").is_file()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def full(*_: object) -> Path:
        raise OSError(number, os.strerror(number), "compiled.json")

    monkeypatch.setattr(CacheEntry, "take", full)
    with pytest.raises(ModelLoadError, match="disk of the cache is full"):
        compile_onnx(onnx, soc=SOC)
    assert left_in(tmp_path / "cache") == []


def test_a_compiler_that_filled_the_disk(
    stand_in_atc: StandInAtc, onnx: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_atc.behave("fail")
    monkeypatch.setattr(compiler, "_free_bytes", lambda path: 0)
    with pytest.raises(ModelLoadError, match="disk of the cache is full.*ASCEND_INFER_CACHE"):
        compile_onnx(onnx, soc=SOC)


def test_no_compiler(onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ModelLoadError, match="atc, the compiler") as caught:
        compile_onnx(onnx, config=BATCHED, soc=SOC)
    assert "--dynamic_batch_size=1,2,4" in str(caught.value)
    with pytest.raises(ModelLoadError, match="no program that can be run"):
        compile_onnx(onnx, soc=SOC, atc=onnx)


def test_what_is_compiled_is_found_without_the_compiler(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = compile_onnx(onnx, soc=SOC, cann_version="8.0.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert compile_onnx(onnx, soc=SOC, cann_version="8.0.0") == path


def test_the_child_is_started_in_the_callers_context(
    stand_in_atc: StandInAtc, onnx: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ascend_infer.compile")
    log = logging.getLogger("ascend_infer.compile")

    @contextmanager
    def starting() -> Iterator[None]:
        assert stand_in_atc.runs == []
        log.info("entered")
        yield
        log.info("left")

    compile_onnx(onnx, soc=SOC, starting=starting)
    compile_onnx(onnx, soc=SOC, starting=starting)
    told = [
        message for message in caplog.messages if message in ("entered", "left") or "start working" in message
    ]
    # Left while the compiler runs, and not entered where nothing is compiled.
    assert told == ["entered", "left", "atc: ATC start working now, please wait for a moment."]


def test_a_context_that_refuses_stops_everything(
    stand_in_atc: StandInAtc, onnx: Path, tmp_path: Path
) -> None:
    @contextmanager
    def starting() -> Iterator[None]:
        raise AclTimeoutError("copies do not end", code=507046)
        yield

    with pytest.raises(AclTimeoutError, match="copies do not end"):
        compile_onnx(onnx, soc=SOC, starting=starting)
    assert stand_in_atc.runs == []
    assert left_in(tmp_path / "cache") == []


def test_progress_and_precision_are_told(
    stand_in_atc: StandInAtc, onnx: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ascend_infer.compile")
    compile_onnx(onnx, config=BATCHED, soc=SOC)
    assert "atc: ATC start working now, please wait for a moment." in caplog.messages
    assert not [message for message in caplog.messages if message == "atc: ..."]
    assert "precision: atc's default, force_fp16" in caplog.text


@pytest.mark.parametrize("soc", ["", "Ascend 310", "x\n"])
def test_a_chip_that_is_none(onnx: Path, soc: str) -> None:
    with pytest.raises(InvalidOptionError, match="expected the chip's name"):
        compile_onnx(onnx, soc=soc)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_limit_that_is_none(onnx: Path, timeout: float) -> None:
    with pytest.raises(InvalidOptionError, match="timeout"):
        compile_onnx(onnx, soc=SOC, timeout=timeout)


def test_a_file_that_is_no_onnx(stand_in_atc: StandInAtc, tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1")
    with pytest.raises(ModelFileError, match="Git LFS"):
        compile_onnx(tmp_path / "x.onnx", soc=SOC)
    assert stand_in_atc.runs == []
