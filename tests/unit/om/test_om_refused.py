"""Everything that is no usable .om file: one exception type, the reason by name, and what to do."""

from __future__ import annotations

import os
import pickle
import socket
import struct

import pytest

from ascend_infer import om
from ascend_infer.errors import ModelFileError

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4665a5ea\nsize 12345678\n"
ONNX = b"\x08\x08\x12\x07pytorch\x1a\x032.1:\x10"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (LFS, "Git LFS pointer of a file of 12,345,678 bytes"),
        (b"../../common/models/yolov3.om", "symbolic link"),
        (b"../../common/models/yolov3.om\n", "symbolic link"),
        (b"yolo v3.om", "symbolic link"),
        (b"this is fake om", "is text"),
        (b"PICO" + bytes(300), "HiSilicon SVP"),
        (ONNX + bytes(200), "ONNX"),
        (b"<!DOCTYPE html>\n<html><body>404</body></html>", "HTML"),
        (b"some words\nand others\n", "is text"),
        (b"\x1f\x8b\x08\x00" + bytes(90), "gzip"),
        (b"\x00\x00\x00\x00TFL3" + bytes(90), "TensorFlow Lite"),
        (b"\x89HDF\r\n\x1a\n" + bytes(90), "HDF5"),
        (b"\x80\x02}q" + b"\xff" * 90, "pickle"),
        (bytes(5000), "zeros"),
        (b"\xde\xad\xbe\xef" * 90, "begins with de ad be ef"),
        (b"IM", "only 2 bytes"),
        (b"IMOD", "not even a whole header"),
        (b"IMOD" + bytes(252), "says it has 0 bytes"),
    ],
)
def test_files_of_other_kinds_are_refused_by_name(content, reason, tmp_path):
    path = tmp_path / "model.om"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        om.read(path)
    error = caught.value
    assert reason in error.reason
    assert error.path == str(path)
    assert str(error).startswith(str(path))
    assert len(str(error)) > len(str(path)) + len(error.reason) + 5  # what to do follows
    assert pickle.loads(pickle.dumps(error)).__dict__ == error.__dict__
    with pytest.raises(ModelFileError):
        om.read_bytes(content)


def test_missing_directory_links_pipes_and_forbidden(tmp_path):
    def reason(path):
        with pytest.raises(ModelFileError) as caught:
            om.read(path)
        return caught.value.reason

    assert reason(tmp_path / "none.om") == "does not exist"
    assert reason(tmp_path) == "is a directory"
    assert "no path" in reason("a\0b")
    assert "cannot be opened" in reason("x" * 5000)
    (tmp_path / "dangling.om").symlink_to("gone.om")
    assert "is a link to gone.om" in reason(tmp_path / "dangling.om")
    (tmp_path / "loop.om").symlink_to("loop.om")
    assert "leads back to itself" in reason(tmp_path / "loop.om")
    os.mkfifo(tmp_path / "pipe.om")  # opening it for reading would wait for a writer
    assert "no regular file" in reason(tmp_path / "pipe.om")
    with socket.socket(socket.AF_UNIX) as server:
        previous = os.getcwd()
        os.chdir(tmp_path)  # the kernel limits the length of a socket's path
        try:
            server.bind("socket.om")
        finally:
            os.chdir(previous)
        assert "a socket" in reason(tmp_path / "socket.om")


@pytest.mark.parametrize(
    ("error", "reason"),
    [(PermissionError(13, "no"), "must not be read"), (OSError(5, "bad disk"), "bad disk")],
)
def test_file_that_cannot_be_opened(tmp_path, build, monkeypatch, error, reason):
    path = tmp_path / "model.om"
    path.write_bytes(build.static_v2())

    def refuse(*_arguments):
        raise error

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ModelFileError, match=reason):
        om.read(path)


def test_no_descriptor_is_left_open(tmp_path, build):
    good, bad = tmp_path / "good.om", tmp_path / "bad.om"
    good.write_bytes(build.static_v2())
    bad.write_bytes(build.static_v2()[:-1])
    archive = tmp_path / "archive.om"
    archive.write_bytes(build.om2())
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        om.read(good)
        om.read(archive)
        for path in (bad, tmp_path, tmp_path / "none"):
            with pytest.raises(ModelFileError):
                om.read(path)
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 0x10000000, "kind": 3, "platform": "3.51.z.0"}, "Kirin"),
        ({"version": 0x10000000, "kind": 4, "platform": "3.51.z.0"}, "Kirin"),
        ({"kind": 4}, "exeom"),
        ({"encrypted": 1}, "encrypted"),
        ({"version": 0x20000001}, "header version"),
        ({"version": 0}, "header version"),
        ({"said": 10}, "145006"),
        ({"said": 10_000_000}, "truncated"),
        ({"user": "ascend_infer sim 9"}, "container version '9'"),
    ],
)
def test_headers_that_are_refused(build, fields, reason):
    root = build.graph("g", build.net_output(build.tensor(1, (1,), "ND")))
    with pytest.raises(ModelFileError, match=reason):
        om.read_bytes(build.om([(0, build.modeldef("n", root))], **fields))


def test_kirin_model_by_its_target(build):
    root = build.graph("g", build.net_output(build.tensor(1, (1,), "ND")))
    data = build.om([(0, build.modeldef("n", root, target_type=build.a_str("LITE")))], version=0x10000000)
    with pytest.raises(ModelFileError, match="target_type LITE"):
        om.read_bytes(data)


def test_model_without_a_modeldef(build):
    with pytest.raises(ModelFileError, match="no MODEL_DEF, only WEIGHTS_DATA"):
        om.read_bytes(build.om([(1, b"w")]))


def test_absurd_counts_are_refused_without_work(build):
    body = struct.pack("<I", 0xFFFFFFFF)
    with pytest.raises(ModelFileError, match="4294967295 entries"):
        om.read_bytes(build.header(len(body)) + body)
    part = [(0, b"")]
    with pytest.raises(ModelFileError, match="4294967295 models"):
        om.read_bytes(build.header(len(build.table(part)), models=0xFFFFFFFF) + build.table(part))
    many = struct.pack("<I", 5000) + struct.pack("<5000q", *range(5000))
    root = build.modeldef("n", build.graph("g"))
    with pytest.raises(ModelFileError, match="5,000 gears"):
        om.read_bytes(build.om([(8, build.tlv(2, many)), (0, root)]))


def test_damage_is_placed_in_the_file(build):
    data = build.om([(7, b"????"), (0, b"\x0a\xff\xff\xff\x7f")])
    with pytest.raises(ModelFileError) as caught:
        om.read_bytes(data, name="upload")
    assert caught.value.path == "upload"
    assert caught.value.offset == len(data) - 5


def test_damaged_tasks_are_a_note_because_the_rest_can_be_read(build):
    root = build.graph("g", build.net_output(build.tensor(1, (1,), "ND")))
    model = om.read_bytes(build.om([(0, build.modeldef("n", root)), (2, b"\xff\xff")]))
    assert any("TASK_INFO is damaged" in note for note in model.notes)


def test_file_that_shrinks_while_it_is_read(tmp_path):
    from ascend_infer.om.source import open_path

    path = tmp_path / "model.om"
    path.write_bytes(bytes(1000))
    with open_path(path) as source:
        path.write_bytes(bytes(10))
        with pytest.raises(ModelFileError, match="became shorter"):
            source.read(0, 1000)


def test_simulator_onnx_of_a_real_model(tmp_path, build):
    path = tmp_path / "model.om"
    path.write_bytes(build.static_v2())
    with pytest.raises(ModelFileError, match="no simulator model"):
        om.simulator_onnx(path)
