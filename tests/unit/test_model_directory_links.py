"""Model files and labels that lie elsewhere: paths that lead out, links, ``allow_paths``."""

import os

import pytest
from model_files import make

from ascend_infer.errors import ConfigError
from ascend_infer.model_directory import ModelDirectory


@pytest.mark.parametrize(
    "name", ["../../secret.onnx", "/etc/passwd", "sub/../../../secret.onnx", "link.onnx", "a\\000b"]
)
def test_a_model_file_outside_is_refused(tmp_path, name):
    make(
        tmp_path,
        {
            "secret.onnx": b"",
            "m/1/x": b"",
            "m/config.pbtxt": f'backend: "onnxruntime"\ndefault_model_filename: "{name}"',
        },
    )
    (tmp_path / "m" / "1" / "link.onnx").symlink_to(tmp_path / "secret.onnx")
    directory = ModelDirectory.open(tmp_path / "m")
    with pytest.raises(ConfigError, match="is refused") as caught:
        directory.model_file(1)
    assert (caught.value.field, caught.value.line) == ("default_model_filename", 2)


def test_allow_paths_let_it_in(tmp_path):
    make(tmp_path, {"shared/net.onnx": b"", "shared/labels.txt": "a\n", "m/1/x": b""})
    config = (
        'backend: "onnxruntime" default_model_filename: "../../shared/net.onnx" '
        'output { name: "y" label_filename: "../shared/labels.txt" }'
    )
    make(tmp_path, {"m/config.pbtxt": config})
    with pytest.raises(ConfigError):
        ModelDirectory.open(tmp_path / "m").model_file(1)
    with pytest.raises(ConfigError, match="refused"):
        ModelDirectory.open(tmp_path / "m").labels("y")
    directory = ModelDirectory.open(tmp_path / "m", allow_paths=[tmp_path / "shared"])
    assert directory.model_file(1).exists
    assert directory.labels("y") == ["a"]


def test_links_inside_the_directory_are_fine(tmp_path):
    make(tmp_path / "m", {"blobs/abc": b"", "1/x": b""})
    os.symlink("../blobs/abc", tmp_path / "m" / "1" / "model.onnx")
    assert ModelDirectory.open(tmp_path / "m").model_file(1).exists


def test_a_circle_of_links_ends(tmp_path):
    make(tmp_path / "m", {"1/x": b"", "config.pbtxt": 'backend: "onnxruntime"'})
    os.symlink("model.onnx", tmp_path / "m" / "1" / "model.onnx")
    assert not ModelDirectory.open(tmp_path / "m").model_file(1).exists
