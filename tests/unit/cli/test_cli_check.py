"""``check``: every finding with its place, the summary, the exit code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_run import Cli
from onnx_models import identity, model_directory

from ascend_infer.om import write_simulator_model
from ascend_infer.types import DataType, Gear, ModelSpec, TensorSpec

GOOD = 'platform: "onnxruntime_onnx"\nmax_batch_size: 8\n'
#: Two errors in one file, in lines 2 and 3.
BAD = (
    'platform: "onnxruntime_onnx"\n'
    'input [{ name: "x" data_type: TYPE_INT64 dims: [-1, 4] }]\n'
    'output [{ name: "z" data_type: TYPE_FP32 dims: [-1, 4] }]\n'
)
DOUBTFUL = GOOD + "instance_group [{ kind: KIND_GPU gpus: [0] }]\n"


@pytest.fixture
def no_npu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_infer.lint.glob.glob", lambda pattern: [])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    model_directory(root, "good", identity(), GOOD)
    return root


def test_nothing_wrong(cli: Cli, repository: Path) -> None:
    done = cli("check", repository)
    assert (done.code, done.out, done.err) == (0, "1 model, 0 errors, 0 warnings\n", "")


def test_every_finding_of_every_model_at_once(cli: Cli, repository: Path) -> None:
    bad = model_directory(repository, "bad", identity(), BAD) / "config.pbtxt"
    broken = model_directory(repository, "broken", identity(), GOOD)
    (broken / "1" / "model.onnx").write_bytes(b"no model")
    done = cli("check", repository)
    assert done.code == 1
    assert not done.err
    *findings, summary = done.out.splitlines()
    assert summary == "3 models, 3 errors, 0 warnings"
    assert re.match(rf"{re.escape(str(bad))}:2:\d+: error: .*data type.*TYPE_INT64", findings[0])
    assert re.match(rf"{re.escape(str(bad))}:3:\d+: error: .*'z'", findings[1])
    assert findings[2].startswith(f"{broken / '1' / 'model.onnx'}: error: ")
    assert findings[2].count("model.onnx") == 1


def test_paths_stand_as_the_user_began_them(
    cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = model_directory(repository, "broken", identity(), GOOD)
    (broken / "1" / "model.onnx").write_bytes(b"")
    monkeypatch.chdir(repository.parent)
    assert cli("check", "repository").out.startswith("repository/broken/1/model.onnx: error: ")
    assert cli("check", "./repository/broken").out.startswith("repository/broken/1/model.onnx: error: ")


@pytest.mark.usefixtures("no_npu")
def test_warnings_fail_only_when_strict(cli: Cli, repository: Path) -> None:
    model_directory(repository, "doubtful", identity(), DOUBTFUL)
    done = cli("check", repository)
    assert done.code == 0
    assert "config.pbtxt:3:" in done.out
    assert done.out.endswith("2 models, 0 errors, 1 warning\n")
    assert cli("check", repository, "--strict").code == 1


@pytest.mark.usefixtures("no_npu")
def test_json(cli: Cli, repository: Path) -> None:
    model_directory(repository, "bad", identity(), BAD)
    model_directory(repository, "doubtful", identity(), DOUBTFUL)
    done = cli("check", repository, "--json")
    assert done.code == 1
    report = done.json
    assert {key: report[key] for key in ("models", "errors", "warnings")} == {
        "models": 3, "errors": 2, "warnings": 1,
    }  # fmt: skip
    first = report["findings"][0]
    assert list(first) == [
        "message", "severity", "file", "line", "column", "field", "got", "expected", "hint",
    ]  # fmt: skip
    assert (first["severity"], first["line"], first["field"]) == ("error", 2, "input[0].data_type")


def test_one_model_directory(cli: Cli, repository: Path) -> None:
    assert cli("check", repository / "good").out == "1 model, 0 errors, 0 warnings\n"


def test_an_unknown_rank_is_no_finding(cli: Cli, tmp_path: Path) -> None:
    model_directory(tmp_path, "m", identity(dims=None))  # type: ignore[arg-type]
    assert cli("check", tmp_path / "m").code == 0


@pytest.mark.parametrize("name", ["missing", "good/config.pbtxt", "empty"])
def test_what_cannot_be_checked(cli: Cli, repository: Path, name: str) -> None:
    (repository / "empty").mkdir()
    assert str(repository / name) in cli.refused("check", repository / name)


def test_an_om_is_checked_against_its_gears(cli: Cli, tmp_path: Path) -> None:
    tensors = tuple((TensorSpec(name, DataType.FP32, (-1, 4)),) for name in "xy")
    spec = ModelSpec("onnx", *tensors, gears=(Gear("batch", (2,)), Gear("batch", (4,))))
    folder = tmp_path / "m"
    (folder / "1").mkdir(parents=True)
    write_simulator_model(folder / "1" / "model.om", onnx=identity().SerializeToString(), spec=spec)
    (folder / "config.pbtxt").write_text(
        'platform: "ge"\nmax_batch_size: 16\ndynamic_batching { preferred_batch_size: [3] }\n'
    )
    done = cli("check", folder)
    assert done.code == 0
    assert "config.pbtxt:2:17: warning: max_batch_size exceeds the model's largest gear" in done.out
    assert "config.pbtxt:3:" in done.out
    assert "is none of the model's gears" in done.out
    assert done.out.endswith("1 model, 0 errors, 2 warnings\n")
