"""The command line with a real model runtime under it, in this process and as a program of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli, cli
from onnx import TensorProto
from onnx_models import add_sub, failing_reshape, identity, model_directory, scale, write
from PIL import Image

from ascend_infer.om import write_simulator_model
from ascend_infer.types import DataType, ModelSpec, TensorSpec

__all__ = ["cli"]

needs_onnxruntime = pytest.mark.skipif(
    find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")


def program(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "ascend_infer", *map(str, words)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 60} | options,
    )


@needs_onnxruntime
class TestInfer:
    @pytest.fixture
    def doubling(self, tmp_path: Path) -> Path:
        return model_directory(tmp_path / "repository", "doubling", scale(2.0), "max_batch_size: 8")

    def test_an_array_in_values_out(self, cli: Cli, doubling: Path, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.arange(8, dtype=np.float32).reshape(2, 4))
        done = cli("infer", doubling, "--input", f"x={tmp_path / 'x.npy'}")
        assert (done.code, done.err) == (0, "")
        head, output = done.out.splitlines()
        assert head.startswith("doubling version 1 on cpu: ")
        assert output.split(maxsplit=3) == ["y", "FP32", "2x4", "0, 2, 4, 6, 8, 10, 12, 14"]

    def test_one_sample_is_a_batch_of_one_and_it_is_said(self, cli: Cli, doubling: Path) -> None:
        done = cli("infer", doubling, "-i", "[1, 2, 3, 4]", "--json")
        assert "taken as a batch of one" in done.err
        assert done.json["outputs"]["y"] == {"dtype": "FP32", "shape": [1, 4], "data": [[2.0, 4.0, 6.0, 8.0]]}
        assert done.json["device"] == "cpu"

    def test_several_inputs_and_one_output(self, cli: Cli, tmp_path: Path) -> None:
        file = write(add_sub((2,)), tmp_path / "add.onnx")
        done = cli("infer", file, "-i", "A=[5, 7]", "-i", "B=[1, 2]", "-o", "D", "--json")
        assert done.json["outputs"] == {"D": {"dtype": "FP32", "shape": [2], "data": [4.0, 5.0]}}
        assert done.json["version"] is None

    def test_results_are_saved(self, cli: Cli, tmp_path: Path) -> None:
        file = write(add_sub((2,)), tmp_path / "add.onnx")
        out = tmp_path / "out.npz"
        done = cli("infer", file, "-i", "A=[5, 7]", "-i", "B=[1, 2]", "--out", out)
        assert f"wrote {out}: S, D" in done.err
        with np.load(out) as saved:
            assert {name: saved[name].tolist() for name in saved} == {"S": [6.0, 9.0], "D": [4.0, 5.0]}

    def test_repeating_shows_the_models_time(self, cli: Cli, doubling: Path) -> None:
        assert (
            "model time over 5 runs, after one to warm up"
            in cli("infer", doubling, "--zeros", "--repeat", 5).out
        )
        report = cli("infer", doubling, "--random", "--repeat", 5, "--json").json["repeat"]
        assert report["runs"] == 5
        assert 0 < report["min_ms"] <= report["median_ms"] <= report["p99_ms"]

    def test_a_picture_by_the_configurations_recipe_with_its_labels(self, cli: Cli, tmp_path: Path) -> None:
        config = (
            'max_batch_size: 4 input [{ name: "x" data_type: TYPE_FP32 dims: [3, 2, 2] }]'
            ' output [{ name: "y" data_type: TYPE_FP32 dims: [3, 2, 2] label_filename: "labels.txt" }]'
            ' parameters { key: "preprocess" value { string_value: \'{"preset": "unit", "policy": "stretch"}\' } }'
        )
        folder = model_directory(tmp_path, "m", identity(dims=("n", 3, 2, 2)), config)
        (folder / "labels.txt").write_text("".join(f"class {index}\n" for index in range(12)))
        pixels = np.zeros((2, 2, 3), np.uint8)
        pixels[1, 0, 2] = 255
        Image.fromarray(pixels).save(tmp_path / "p.png")
        done = cli("infer", folder, "-i", tmp_path / "p.png", "--json")
        assert "2x2 RGB NCHW float32" in done.err
        best = done.json["top_k"]["y"][0]
        assert len(best) == 5
        assert best[0] == {"index": 10, "score": 1.0, "label": "class 10"}
        assert (
            "top 2 of y:\n  1  10  class 10\n"
            in cli("infer", folder, "-i", tmp_path / "p.png", "--top-k", 2).out
        )

    def test_text_goes_in_and_comes_out(self, cli: Cli, tmp_path: Path) -> None:
        file = write(identity(TensorProto.STRING, ("n", 1)), tmp_path / "m.onnx")
        assert cli("infer", file, "-i", "text:grüße", "--json").json["outputs"]["y"]["data"] == [["grüße"]]

    def test_the_version_can_be_chosen(self, cli: Cli, tmp_path: Path) -> None:
        folder = model_directory(tmp_path, "m", scale(2.0), versions=(1, 2))
        write(scale(3.0), folder / "1" / "model.onnx")
        assert cli("infer", folder, "-i", "[[1,1,1,1]]", "--json").json["outputs"]["y"]["data"][0][0] == 2.0
        chosen = cli("infer", folder, "-i", "[[1,1,1,1]]", "--version", 1, "--json").json
        assert (chosen["version"], chosen["outputs"]["y"]["data"][0][0]) == (1, 3.0)

    def test_verbose_says_how_it_runs(self, cli: Cli, doubling: Path) -> None:
        assert (
            "info: model 'doubling' version 1 on cpu (asked for): onnxruntime"
            in cli("infer", doubling, "--zeros", "-v").err
        )

    @pytest.mark.parametrize("model", [identity(), scale(2.0), add_sub(), identity(dims=(2, 4))])
    def test_a_printed_configuration_serves_the_model(self, cli: Cli, tmp_path: Path, model: object) -> None:
        file = write(model, tmp_path / "net.onnx")  # type: ignore[arg-type]
        text = cli("inspect", file, "--config").out
        folder = model_directory(tmp_path, "net", model, text)  # type: ignore[arg-type]
        bare, served = (cli("infer", path, "--zeros", "--json").json["outputs"] for path in (file, folder))
        assert bare == served


@needs_onnxruntime
class TestBeginnersErrors:
    @pytest.fixture
    def model(self, tmp_path: Path) -> Path:
        return write(identity(), tmp_path / "m.onnx")

    @pytest.mark.parametrize(
        ("words", "parts"),
        [
            ((), ["misses input 'x'", "--input x=VALUE", "--zeros or --random"]),
            (("-i", "z=[[1,2,3,4]]"), ["no input 'z'", "it has: 'x'"]),
            (("-i", "[[1,2,3,4]]", "-o", "why"), ["no output 'why'", "it has: 'y'"]),
            (("-i", "[[1,2,3]]"), ["shape [1, 3]", "[any, 4]"]),
            (("-i", "[[[1,2,3,4]]]"), ["shape [1, 1, 4]", "[any, 4]"]),
            (("-i", "missing.npy"), ["missing.npy", "not there"]),
            (("-i", "text:a"), ["got text"]),
            (("-i", "[[1,2,3,4]]", "--out", "o.csv"), ["ends in .npz"]),
            (("-i", "[[1,2,3,4]]", "--version", "2"), ["has no versions"]),
            (("-i", "[[1,2,3,4]]", "--device", "gpu"), ["'gpu'", "'npu:N'"]),
            (("-i", "[[1,2,3,4]]", "--labels", "nowhere"), ["nowhere", "cannot be read"]),
            (("-i", "[[1,2,3,4]]", "--top-k", "1", "--labels", os.devnull), ["it is a device, not a file"]),
        ],
    )
    def test_each_says_what_to_do(
        self, cli: Cli, model: Path, words: tuple[str, ...], parts: list[str]
    ) -> None:
        message = cli.refused("infer", model, *words)
        for part in parts:
            assert part in message

    def test_the_wrong_type_names_the_option_that_converts(
        self, cli: Cli, model: Path, tmp_path: Path
    ) -> None:
        np.save(tmp_path / "d.npy", np.ones((1, 4)))
        word = f"x={tmp_path / 'd.npy'}"
        message = cli.refused("infer", model, "-i", word)
        assert "got float64, expected float32" in message
        assert "--cast same_kind" in message
        assert cli("infer", model, "-i", word, "--cast", "same_kind").code == 0

    def test_a_broken_picture(self, cli: Cli, tmp_path: Path) -> None:
        model = write(identity(dims=("n", 3, 8, 8)), tmp_path / "m.onnx")
        (tmp_path / "b.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
        assert "b.jpg" in cli.refused("infer", model, "-i", tmp_path / "b.jpg", "--preset", "unit")

    def test_a_model_that_fails_while_it_runs(self, cli: Cli, tmp_path: Path) -> None:
        model = write(failing_reshape(), tmp_path / "m.onnx")
        assert "Reshape" in cli.refused("infer", model, "-i", "[1, 2, 3]")

    def test_a_repository_instead_of_a_model(self, cli: Cli, tmp_path: Path) -> None:
        model_directory(tmp_path, "one", identity())
        assert f"did you mean {tmp_path / 'one'}?" in cli.refused("infer", tmp_path)

    def test_an_om_without_a_twin(self, cli: Cli, tmp_path: Path) -> None:
        tensor = TensorSpec("x", DataType.FP32, (1, 4))
        spec = ModelSpec("onnx", (tensor,), (TensorSpec("y", DataType.FP32, (1, 4)),))
        write_simulator_model(tmp_path / "m.om", onnx=identity(dims=(1, 4)).SerializeToString(), spec=spec)
        assert "does not run on the CPU" in cli.refused("infer", tmp_path / "m.om")


class TestProgram:
    @pytest.fixture
    def model(self, tmp_path: Path) -> Path:
        return write(identity(), tmp_path / "m.onnx")

    def test_results_and_errors_have_a_stream_each(self, model: Path, tmp_path: Path) -> None:
        good = program("inspect", model, "--json")
        assert (good.returncode, good.stderr) == (0, "")
        assert json.loads(good.stdout)["inputs"][0]["name"] == "x"
        bad = program("inspect", tmp_path / "none.onnx")
        assert (bad.returncode, bad.stdout) == (2, "")
        assert bad.stderr.startswith("error: ")
        assert "Traceback" not in bad.stderr

    def test_findings_are_exit_code_1(self, tmp_path: Path) -> None:
        model_directory(tmp_path, "m", identity(), "max_batch_size: many")
        done = program("check", tmp_path)
        assert (done.returncode, done.stderr) == (1, "")
        assert "config.pbtxt:1:17: error: " in done.stdout

    def test_the_script_is_the_module(self, model: Path) -> None:
        script = shutil.which("ascend-infer", path=sysconfig.get_path("scripts"))
        if script is None:
            pytest.skip("ascend-infer is not installed as a script")
        for words in (["--version"], ["--help"], ["inspect", str(model)], ["inspect"]):
            one = subprocess.run([script, *words], capture_output=True, text=True, check=False, timeout=60)
            other = program(*words)
            assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)

    def test_a_reader_that_is_gone_is_no_error(self, model: Path) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = program("inspect", model, stdout=writing)
        finally:
            os.close(writing)
        assert (done.returncode, done.stderr) == (141, "")

    def test_a_full_disk_is_said(self, model: Path) -> None:
        if not os.path.exists("/dev/full"):
            pytest.skip("there is no /dev/full")
        with open("/dev/full", "w") as full:
            done = program("inspect", model, stdout=full)
        assert (done.returncode, done.stderr) == (
            2,
            "error: the output cannot be written: No space left on device\n",
        )

    def test_no_output_at_all(self, model: Path) -> None:
        words = [sys.executable, "-m", "ascend_infer", "inspect", str(model)]
        closed = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", *words], stderr=subprocess.PIPE, check=False, timeout=60
        )
        assert (closed.returncode, closed.stderr) == (0, b"")

    @pytest.mark.parametrize("words", [("inspect",), ("inspect", "--json")])
    def test_names_that_the_terminal_cannot_show(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        file = write(identity(source="été", target="猫"), tmp_path / "m.onnx")
        done = program(*words, file, env=os.environ | {"PYTHONIOENCODING": "ascii"})
        assert (done.returncode, done.stderr) == (0, "")
        if "--json" in words:
            assert json.loads(done.stdout)["inputs"][0]["name"] == "été"
        else:
            assert "\\xe9t\\xe9" in done.stdout

    def test_help_imports_no_runtime(self) -> None:
        script = (
            "import sys; from ascend_infer.cli import main; main(['--help']); main(['infer', '--help']);"
            "sys.exit(bool({'numpy', 'onnxruntime', 'PIL', 'google.protobuf'} & set(sys.modules)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
