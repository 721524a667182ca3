"""``inspect`` on .onnx files, model directories and repositories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli
from onnx import TensorProto, helper, numpy_helper
from onnx_models import add_sub, identity, model_directory, model_of, value, write

from ascend_infer import onnx_file
from ascend_infer.config import parse_config
from ascend_infer.onnx_file.runnable import NARROW_TYPES, why_not_runnable

CONFIG = """
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [4] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [4] label_filename: "labels.txt" } ]
instance_group [ { count: 2 kind: KIND_CPU } ]
dynamic_batching { preferred_batch_size: [4, 8] max_queue_delay_microseconds: 100 }
parameters { key: "preprocess" value { string_value: "imagenet" } }
"""


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    folder = model_directory(tmp_path / "repository", "labelled", identity(), CONFIG, versions=(1, 3))
    (folder / "labels.txt").write_text("a\nb\nc\nd\n")
    return folder


def test_a_bare_file_says_what_to_feed_and_what_comes_out(cli: Cli, tmp_path: Path) -> None:
    file = write(add_sub(("n", 3)), tmp_path / "add.onnx")
    done = cli("inspect", file)
    assert (done.code, done.err) == (0, "")
    feed, get = done.out.split("feed:\n")[1].split("get:\n")
    assert "A  FP32  any (n) x 3\n" in feed
    assert "B  FP32  any (n) x 3\n" in feed
    assert "S  FP32  any (n) x 3\n" in get
    assert "D  FP32  any (n) x 3\n" in get
    assert "IR version 8, opset ai.onnx 17" in done.out
    assert "2 operators, 0 weights" in done.out
    assert "made by  tests 1" in done.out


def test_a_model_directory_says_what_its_configuration_does(cli: Cli, labelled: Path) -> None:
    out = cli("inspect", labelled).out
    assert "x  FP32  batch of up to 8, 4\n" in out
    assert "y  FP32  batch of up to 8, 4  4 labels in labels.txt\n" in out
    assert "1, 3; the latest serves: version 3 is described here" in out
    assert "preferably to 4, 8, and wait up to 100 us" in out
    assert "2 on the CPU" in out
    assert "preprocess=imagenet" in out
    assert "\n3/model.onnx: " in out


def test_the_version_can_be_chosen_by_option_and_by_path(cli: Cli, labelled: Path) -> None:
    assert cli("inspect", labelled, "--version", "1", "--json").json["version"] == 1
    pinned = cli("inspect", labelled / "1", "--json").json
    assert (pinned["version"], pinned["kind"]) == (1, "version directory")
    assert "versions in" in cli.refused("inspect", labelled, "--version", "2")


def test_json_has_the_facts_under_stable_keys(cli: Cli, labelled: Path) -> None:
    report = cli("inspect", labelled, "--json").json
    assert list(report) == [
        "kind", "path", "name", "version", "versions", "selected_versions", "max_batch_size",
        "inputs", "outputs", "runs_here", "notes", "files", "config",
    ]  # fmt: skip
    assert report["kind"] == "model directory"
    assert report["selected_versions"] == [3]
    assert report["inputs"] == [
        {
            "name": "x", "model_name": "x", "dtype": "FP32", "dims": [4], "shape": [-1, 4],
            "shape_text": "batch of up to 8, 4", "dim_names": [None], "optional": False, "labels": None, "remark": "",
        }
    ]  # fmt: skip
    assert report["outputs"][0]["labels"] == {"file": "labels.txt", "count": 4}
    assert set(report["runs_here"]) == {"device", "file", "reason"}
    assert report["files"][0]["format"] == "onnx"
    assert report["files"][0]["opsets"] == {"ai.onnx": 17}
    assert report["config"]["dynamic_batching"]["preferred_batch_size"] == [4, 8]


def test_a_repository_is_listed_one_model_a_line(cli: Cli, labelled: Path) -> None:
    repository = labelled.parent
    model_directory(repository, "add", add_sub())
    write(identity(), repository / "broken" / "1" / "model.onnx").write_bytes(b"\x08\x07")
    done = cli("inspect", repository)
    assert (done.code, done.err) == (0, "")
    head, columns, add, broken, last = done.out.splitlines()
    assert "a repository of 3 models" in head
    assert columns.split() == ["MODEL", "VERSIONS", "BACKEND", "BATCH", "SIGNATURE"]
    assert add.split(maxsplit=4) == [
        "add",
        "1*",
        "onnxruntime",
        "4",
        "A FP32 4, B FP32 4 -> S FP32 4, D FP32 4",
    ]
    assert broken.startswith("  broken")
    assert "no ONNX model" in broken
    assert last.split(maxsplit=5)[1:5] == ["1,", "3*", "onnxruntime", "8"]
    listed = cli("inspect", repository, "--json").json
    assert [model["name"] for model in listed["models"]] == ["add", "broken", "labelled"]
    assert "no ONNX model" in listed["models"][1]["error"]
    assert listed["models"][2]["inputs"] == [{"name": "x", "dtype": "FP32", "dims": [4]}]


def test_the_list_has_what_check_refuses(cli: Cli, labelled: Path) -> None:
    (labelled / "labels.txt").unlink()
    os.mkfifo(labelled / "labels.txt")
    ensemble = labelled.parent / "ensemble"
    ensemble.mkdir()
    (ensemble / "config.pbtxt").write_text(
        'platform: "ensemble" input { name: "a" data_type: TYPE_FP32 dims: 4 } '
        'output { name: "b" data_type: TYPE_FP32 dims: 4 } ensemble_scheduling { step { model_name: "none" '
        'model_version: -1 input_map { key: "x" value: "a" } output_map { key: "y" value: "b" } } }'
    )
    model_directory(labelled.parent, "fine", add_sub())
    models = cli("inspect", labelled.parent, "--json").json["models"]
    assert [model["name"] for model in models] == ["ensemble", "fine", "labelled"]
    assert "not available: 'none'" in models[0]["error"]
    assert models[1]["error"] is None
    assert "labels.txt is a pipe" in models[2]["error"]


def test_it_needs_no_onnxruntime(tmp_path: Path) -> None:
    file = write(identity(), tmp_path / "m" / "1" / "model.onnx")
    script = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from ascend_infer.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "loaded = {'onnx', 'PIL'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
        "sys.exit(code)"
    )
    words = [sys.executable, "-c", script, "inspect", str(file.parents[1]), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["inputs"][0]["name"] == "x"


def test_where_it_runs_says_when_onnxruntime_is_missing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_infer.cli.inspection import placement

    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
    file = write(identity(), tmp_path / "m.onnx")
    monkeypatch.setattr(placement, "find_spec", lambda name: None)
    assert "pip install 'ascend-infer[cpu]'" in cli("inspect", file).out
    monkeypatch.setattr(placement, "find_spec", lambda name: name)
    assert f"on cpu, from {file}: asked for" in cli("inspect", file).out


def test_a_device_that_does_not_exist_is_said_where_it_runs(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "tpu")
    runs = cli("inspect", write(identity(), tmp_path / "m.onnx"), "--json").json["runs_here"]
    assert runs["device"] is None
    assert "ASCEND_INFER_DEVICE" in runs["reason"]


class TestQuirks:
    def notes(self, cli: Cli, file: Path) -> str:
        done = cli("inspect", file)
        assert done.code == 0
        return done.out.partition("\nnotes:\n")[2]

    def test_weights_among_the_inputs(self, cli: Cli, tmp_path: Path) -> None:
        model = model_of(
            [helper.make_node("Mul", ["x", "w"], ["y"])],
            [value("x", TensorProto.FLOAT, ["n", 4]), value("w", TensorProto.FLOAT, [4])],
            [value("y", TensorProto.FLOAT, ["n", 4])],
            {"w": np.ones(4, np.float32)},
            ir_version=3,
        )
        file = write(model, tmp_path / "m.onnx")
        assert "1 of its weights are listed as inputs too (IR version 3)" in self.notes(cli, file)
        assert [tensor["name"] for tensor in cli("inspect", file, "--json").json["inputs"]] == ["x"]
        assert [item["name"] for item in cli("inspect", file, "--json").json["files"][0]["defaults"]] == ["w"]

    def test_a_shape_that_is_an_exporters_example(self, cli: Cli, tmp_path: Path) -> None:
        file = write(identity(dims=(10, 3, 32, 32)), tmp_path / "m.onnx")
        assert "state dims: [-1, 3, -1, -1]" in self.notes(cli, file)

    @pytest.mark.parametrize("dims", [(1, 3, 32, 32), (8, 3, 224, 224), ("n", 3, 32, 32), (10, 7, 32, 32)])
    def test_shapes_that_may_be_meant(self, cli: Cli, tmp_path: Path, dims: tuple[int | str, ...]) -> None:
        assert self.notes(cli, write(identity(dims=dims), tmp_path / "m.onnx")) == ""

    def test_an_output_that_is_no_tensor(self, cli: Cli, tmp_path: Path) -> None:
        sequence = helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None)
        model = model_of(
            [helper.make_node("SequenceConstruct", ["x"], ["parts"]), helper.make_node("Neg", ["x"], ["y"])],
            [value("x", TensorProto.FLOAT, ["n"])],
            [value("y", TensorProto.FLOAT, ["n"]), sequence],
        )
        assert "output 'parts' is a sequence and cannot be had" in self.notes(
            cli, write(model, tmp_path / "m.onnx")
        )

    def test_weights_in_files_beside_the_model(self, cli: Cli, tmp_path: Path) -> None:
        model = identity()
        tensor = numpy_helper.from_array(np.zeros(2, np.float32), "w")
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights.bin")
        model.graph.initializer.append(tensor)
        file = write(model, tmp_path / "m.onnx")
        assert "weights are missing: weights.bin should be beside m.onnx" in self.notes(cli, file)
        (tmp_path / "weights.bin").write_bytes(bytes(8))
        assert "its weights are in weights.bin, which must stay beside" in self.notes(cli, file)

    def test_shapes_that_the_configuration_opens(self, cli: Cli, tmp_path: Path) -> None:
        config = 'platform: "onnxruntime_onnx" input [{ name: "x" data_type: TYPE_FP32 dims: [-1, 4] }]'
        folder = model_directory(tmp_path, "m", identity(dims=(2, 4)), config)
        assert "leaves dimensions of 'x' open that the file fixes" in self.notes(cli, folder)


def test_a_python_model_is_shown_by_its_configuration(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p" / "1").mkdir(parents=True)
    (tmp_path / "p" / "1" / "model.py").write_text("class TritonPythonModel: ...")
    (tmp_path / "p" / "config.pbtxt").write_text(
        'backend: "python" max_batch_size: 4 input [{ name: "x" data_type: TYPE_FP32 dims: [3] }]'
        ' output [{ name: "y" data_type: TYPE_STRING dims: [1] }]'
    )
    out = cli("inspect", tmp_path / "p").out
    assert "x  FP32  batch of up to 4, 3\n" in out
    assert "y  BYTES  batch of up to 4, 1\n" in out


def test_an_ensemble_shows_its_steps(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "e" / "1").mkdir(parents=True)
    (tmp_path / "e" / "config.pbtxt").write_text(
        'platform: "ensemble" input [{ name: "a" data_type: TYPE_FP32 dims: [3] }]'
        ' output [{ name: "b" data_type: TYPE_FP32 dims: [3] }] ensemble_scheduling { step ['
        '{ model_name: "first" model_version: -1'
        ' input_map { key: "x" value: "a" } output_map { key: "y" value: "t" } },'
        '{ model_name: "second" model_version: 2'
        ' input_map { key: "x" value: "t" } output_map { key: "y" value: "b" } } ] }'
    )
    assert "first -> second version 2" in cli("inspect", tmp_path / "e").out


class TestBrokenFiles:
    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "the file is empty"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "git lfs pull"),
            (b"<!DOCTYPE html>", "web page"),
            (b"\x80\x02}q", "Python pickle"),
            (b"hello, this is text", "no ONNX model"),
            (bytes(range(256)), "no ONNX model"),
        ],
    )
    @pytest.mark.parametrize("command", ["inspect", "infer"])
    def test_what_is_no_model(
        self, cli: Cli, tmp_path: Path, command: str, content: bytes, reason: str
    ) -> None:
        file = tmp_path / "m.onnx"
        file.write_bytes(content)
        message = cli.refused(command, file)
        assert reason in message
        assert str(file) in message

    def test_a_file_that_is_cut_short(self, cli: Cli, tmp_path: Path) -> None:
        file = write(add_sub(), tmp_path / "m.onnx")
        file.write_bytes(file.read_bytes()[:-20])
        assert "damaged, cut short" in cli.refused("inspect", file)

    def test_a_path_that_is_not_there(self, cli: Cli, labelled: Path) -> None:
        assert f"did you mean {labelled}?" in cli.refused("inspect", labelled.with_name("labeled"))

    def test_a_file_that_may_not_be_read(self, cli: Cli, tmp_path: Path) -> None:
        file = write(identity(), tmp_path / "m.onnx")
        file.chmod(0)
        try:
            file.read_bytes()
        except PermissionError:
            assert "Permission denied" in cli.refused("inspect", file)
        else:
            pytest.skip("this user may read everything")

    def test_a_configuration_that_contradicts_its_file(self, cli: Cli, tmp_path: Path) -> None:
        config = 'platform: "onnxruntime_onnx"\ninput [{ name: "x" data_type: TYPE_INT64 dims: [-1, 4] }]'
        folder = model_directory(tmp_path, "m", identity(), config)
        message = cli.refused("inspect", folder)
        assert "config.pbtxt:2:" in message
        assert "TYPE_INT64" in message

    def test_a_version_without_its_file(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "m" / "1").mkdir(parents=True)
        (tmp_path / "m" / "config.pbtxt").write_text('platform: "onnxruntime_onnx"')
        assert "has no model file" in cli.refused("inspect", tmp_path / "m")

    def test_a_directory_without_a_model(self, cli: Cli, tmp_path: Path) -> None:
        assert "is an empty directory" in cli.refused("inspect", tmp_path)

    def test_a_configuration_alone(self, cli: Cli, labelled: Path) -> None:
        assert f"give its directory: {labelled}" in cli.refused("inspect", labelled / "config.pbtxt")

    def test_a_version_of_a_bare_file(self, cli: Cli, tmp_path: Path) -> None:
        file = write(identity(), tmp_path / "m.onnx")
        assert "has no versions" in cli.refused("inspect", file, "--version", "1")


class TestWhatCannotRunHere:
    @pytest.mark.parametrize("code", [TensorProto.INT4, TensorProto.UINT4, TensorProto.COMPLEX64])
    def test_types_that_the_runtime_refuses(
        self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
    ) -> None:
        monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
        report = cli("inspect", write(identity(code), tmp_path / "m.onnx"), "--json").json
        assert report["runs_here"]["device"] is None
        assert "'x' is" in report["runs_here"]["reason"]

    def test_an_onnx_twin_of_an_om_too(self, tmp_path: Path) -> None:
        described = onnx_file.read(write(identity(TensorProto.INT4), tmp_path / "m.onnx"))
        assert "which onnxruntime cannot run" in str(why_not_runnable(described, tmp_path))

    def test_the_narrow_types_are_the_backends(self) -> None:
        pytest.importorskip("onnxruntime")
        from ascend_infer.backends.onnx_values import NARROW

        assert NARROW.keys() == NARROW_TYPES


class TestNames:
    def test_a_line_break_in_a_name_makes_no_line(
        self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
        done = cli("inspect", write(identity(), tmp_path / "a\nb.onnx"))
        (line,) = (line for line in done.out.splitlines() if "runs here" in line)
        assert r"a\nb.onnx" in line

    def test_a_name_that_is_no_utf8_is_left_out_of_the_configuration(self, cli: Cli, tmp_path: Path) -> None:
        file = write(identity(), Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.onnx")))
        text = cli("inspect", file, "--config").out
        text.encode("utf-8")
        assert parse_config(text).config.name == ""
        assert cli("inspect", file, "--config", "--json").code == 0


@pytest.mark.parametrize("command", ["inspect", "check", "infer", "doctor"])
def test_an_empty_path_is_not_the_current_folder(cli: Cli, command: str) -> None:
    assert "got '', expected a path" in cli.refused(command, "")


def test_words_that_cannot_be_meant(cli: Cli, labelled: Path, tmp_path: Path) -> None:
    for command in ("inspect", "infer"):
        assert "expected a version's number" in cli.refused(command, labelled, "--version", "")
        assert "which is not there" in cli.refused(command, labelled, "--allow-path", tmp_path / "none")
    assert "which is not there" in cli.refused("check", labelled, "--allow-path", tmp_path / "none")
