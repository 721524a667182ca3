"""Reading config.pbtxt from disk: what is no configuration is refused by name."""

import os

import pytest

from ascend_infer.config import load_config
from ascend_infer.config.text_file import MAX_BYTES, read_lines
from ascend_infer.errors import ConfigError


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'name: "a"\nplatform: "\xff"', "not UTF-8"),
        ('name: "名"'.encode("gbk"), "not UTF-8"),
        ('name: "a"'.encode("utf-16"), "UTF-16"),
        (b'name: "a"\0\0', "binary"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS"),
    ],
)
def test_refuses_by_name(tmp_path, content, words):
    file = tmp_path / "config.pbtxt"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=words) as caught:
        load_config(file)
    assert caught.value.file == str(file)


def test_bad_bytes_have_a_place(tmp_path):
    file = tmp_path / "config.pbtxt"
    file.write_bytes(b'name: "a"\nplatform: "\xff"')
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert (caught.value.line, caught.value.column) == (2, 12)


def test_missing_directory_pipe_and_impossible_paths(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "config.pbtxt")
    with pytest.raises(ConfigError, match="is a directory"):
        load_config(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="is a pipe"):
        load_config(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="no path"):
        load_config("a\0b")


def test_a_gigantic_file_is_refused_unread(tmp_path):
    file = tmp_path / "config.pbtxt"
    with open(file, "wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(ConfigError, match="16 MiB"):
        load_config(file)


def test_reads_any_line_ends(tmp_path):
    file = tmp_path / "config.pbtxt"
    file.write_bytes(b'name: "a"\r\nmax_batch_size: 4\r\n')
    parsed = load_config(file)
    assert parsed.config.max_batch_size == 4
    assert parsed.position("max_batch_size") == (2, 17)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"cat\ndog\n", ["cat", "dog"]),
        (b"cat\n\ndog", ["cat", "", "dog"]),
        (b"cat\r\ndog\r\n", ["cat", "dog"]),
        (b"\n", [""]),
        ("\ufeff猫\n".encode(), ["猫"]),
    ],
)
def test_label_lines(tmp_path, content, lines):
    file = tmp_path / "labels.txt"
    file.write_bytes(content)
    assert read_lines(file) == lines
