"""Files that are none are told apart at once, and nothing is read without end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ascend_infer import onnx_file
from ascend_infer.errors import ModelFileError
from ascend_infer.regular_file import FileTooLargeError, NotRegularFileError, open_regular, read_regular


def test_a_file_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert read_regular(tmp_path / "f", 5) == b"12345"
    with pytest.raises(FileTooLargeError, match="5 bytes, at most 4") as refused:
        read_regular(tmp_path / "f", 4)
    assert refused.value.size == 5


def test_a_sparse_file_is_refused_by_its_size(tmp_path: Path) -> None:
    with open(tmp_path / "f", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FileTooLargeError):
        read_regular(tmp_path / "f", 1000)


@pytest.mark.parametrize("pipes", [False, True])
def test_a_named_pipe_is_never_waited_for(tmp_path: Path, pipes: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegularFileError) as refused:
        read_regular(tmp_path / "pipe", 10, pipes=pipes)
    assert refused.value.kind == "a pipe"


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_devices(path: str) -> None:
    with pytest.raises(NotRegularFileError) as refused:
        read_regular(path, 10, pipes=True)
    assert refused.value.kind == "a device"


def test_directories_and_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(NotRegularFileError) as refused:
            open_regular("socket")
        assert refused.value.kind == "a socket"
    with pytest.raises(NotRegularFileError) as refused:
        open_regular(tmp_path)
    assert refused.value.kind == "a directory"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no /proc")
def test_a_shells_pipe_is_read_to_its_limit() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x" * 100)
    os.close(writing)
    try:
        assert read_regular(f"/proc/self/fd/{reading}", 100, pipes=True) == b"x" * 100
        with pytest.raises(NotRegularFileError):
            read_regular(f"/proc/self/fd/{reading}", 100)
    finally:
        os.close(reading)
    reading, writing = os.pipe()
    os.write(writing, b"x" * 101)
    try:
        with pytest.raises(FileTooLargeError):  # though the writer goes on
            read_regular(f"/proc/self/fd/{reading}", 100, pipes=True)
    finally:
        os.close(reading)
        os.close(writing)


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    before = len(os.listdir("/proc/self/fd"))
    for path in (tmp_path / "pipe.onnx", tmp_path):
        with pytest.raises(NotRegularFileError):
            read_regular(path, 10)
    with pytest.raises(ModelFileError, match=r"pipe\.onnx: it is a pipe"):
        onnx_file.read(tmp_path / "pipe.onnx")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_without_target(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").symlink_to("gone.onnx")
    with pytest.raises(ModelFileError, match=r"it is a link to gone\.onnx, which is not there"):
        onnx_file.read(tmp_path / "m.onnx")
