"""``ascend-infer compile`` with a compiler that stands in for CANN's."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import onnx_models
import pytest
from cli_run import Cli, cli
from stand_in_atc import StandInAtc, stand_in_atc

from ascend_infer import om

__all__ = ["cli", "stand_in_atc"]

CONFIG = """
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
dynamic_batching { preferred_batch_size: [ 4 ] }
parameters { key: "atc.precision_mode_v2" value { string_value: "origin" } }
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    folder = tmp_path / "repository" / "scale"
    (folder / "1").mkdir(parents=True)
    onnx_models.write(onnx_models.scale(2.0), folder / "1" / "model.onnx")
    (folder / "config.pbtxt").write_text(CONFIG)
    return folder


def test_a_directory_is_compiled_as_its_configuration_says(
    cli: Cli, stand_in_atc: StandInAtc, directory: Path
) -> None:
    done = cli("compile", directory, "--soc", "Ascend310P3")
    assert done.code == 0, done.err
    path = Path(done.out.strip())
    assert [gear.values for gear in om.read(path).gears] == [(1,), (4,), (8,)]
    assert path.parent.name.startswith("scale-")
    options = stand_in_atc.options()
    assert options["precision_mode_v2"] == "origin"
    assert options["soc_version"] == "Ascend310P3"
    again = cli("compile", directory, "--soc", "Ascend310P3", "--verbose")
    assert again.out == done.out
    assert len(stand_in_atc.runs) == 1


def test_dry_run_shows_the_command_and_runs_nothing(
    cli: Cli, stand_in_atc: StandInAtc, directory: Path, tmp_path: Path
) -> None:
    done = cli("compile", directory, "--soc", "Ascend310P3", "--dry-run", "--option", "log=error")
    assert done.code == 0
    assert done.out.startswith(f"{stand_in_atc.path} --model=")
    for words in ("--dynamic_batch_size=1,4,8", "--log=error", "--precision_mode_v2=origin", "--framework=5"):
        assert words in done.out
    assert "precision: precision_mode_v2=origin" in done.err
    assert "would be written" in done.err
    assert stand_in_atc.runs == []
    assert not (tmp_path / "cache").exists()


def test_the_model_can_be_copied_out(
    cli: Cli, stand_in_atc: StandInAtc, directory: Path, tmp_path: Path
) -> None:
    stand_in_atc.behave("external weights")
    target = tmp_path / "out" / "model.om"
    words = ("compile", directory, "--soc", "Ascend310P3", "-o", target)
    assert "there is no folder" in cli.refused(*words)
    target.parent.mkdir()
    done = cli(*words)
    assert done.code == 0
    assert done.out == f"{target}\n"
    assert om.read(target).soc_version
    assert sorted(p.name for p in target.parent.iterdir()) == ["model.om", "weight"]
    assert "is a folder" in cli.refused("compile", directory, "--soc", "Ascend310P3", "-o", tmp_path)


def test_the_output_is_never_the_model_itself(
    cli: Cli, stand_in_atc: StandInAtc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx = onnx_models.write(onnx_models.scale(2.0), tmp_path / "m.onnx")
    before = onnx.read_bytes()
    (tmp_path / "link.om").symlink_to(onnx)
    monkeypatch.chdir(tmp_path)
    for output in (onnx, "m.onnx", "./link.om"):
        told = cli.refused("compile", onnx, "--soc", "Ascend310P3", "-o", output)
        assert f"--output {output} is the model itself" in told
    assert onnx.read_bytes() == before
    assert stand_in_atc.runs == []


@pytest.mark.parametrize("behaviour", ["compile", "external weights"])
def test_an_output_on_a_full_disk_is_named(
    cli: Cli,
    stand_in_atc: StandInAtc,
    directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    behaviour: str,
) -> None:
    stand_in_atc.behave(behaviour)
    words = ("compile", directory, "--soc", "Ascend310P3")
    assert cli(*words).code == 0  # it is in the cache

    def full(source: str, target: str, **_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(source), None, os.fspath(target))

    for name in ("copyfile", "copy2"):
        monkeypatch.setattr(shutil, name, full)
    target = tmp_path / "model.om"
    told = cli.refused(*words, "-o", target)
    assert told.startswith(f"error: --output {target} cannot be written: ")
    assert os.strerror(errno.ENOSPC) in told
    assert not list(tmp_path.glob("*.om*"))


def test_progress_is_shown_when_asked_for(cli: Cli, stand_in_atc: StandInAtc, directory: Path) -> None:
    done = cli("compile", directory, "--soc", "Ascend310P3", "-v")
    assert "atc: ATC start working now" in done.err
    assert "Ascend310P3" in done.err
    assert done.out.count("\n") == 1


def test_a_bare_file_has_no_batch_but_what_the_options_give_it(
    cli: Cli, stand_in_atc: StandInAtc, tmp_path: Path
) -> None:
    onnx = onnx_models.write(onnx_models.scale(2.0), tmp_path / "bare.onnx")
    words = ("compile", onnx, "--soc", "Ascend310P3", "--atc", stand_in_atc.path)
    done = cli(*words)
    assert done.code == 0
    assert "compiled for dynamic shape" in done.err
    assert stand_in_atc.options()["input_shape"] == "x:-1,4"
    assert cli(*words, "--option", "dynamic_batch_size=1,2,4").err == ""
    assert stand_in_atc.options()["dynamic_batch_size"] == "1,2,4"


def test_what_is_wrong_is_said_in_one_line_or_the_compilers_own(
    cli: Cli, stand_in_atc: StandInAtc, directory: Path, tmp_path: Path
) -> None:
    assert "no NPU of this machine answers" in cli.refused("compile", directory)
    assert "expected NAME=VALUE" in cli.refused("compile", directory, "--soc", "A", "--option", "x")
    assert "set here already" in cli.refused("compile", directory, "--soc", "A", "--option", "model=x")
    assert "timeout" in cli.refused("compile", directory, "--soc", "A", "--time-limit", "0")
    assert "only .onnx models" in cli.refused("compile", _without_onnx(tmp_path), "--soc", "A")
    stand_in_atc.behave("fail")
    told = cli.refused("compile", directory, "--soc", "Ascend310P3")
    assert "E20001: Failed to compile Op" in told
    assert "Solution:" in told


def _without_onnx(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.om").write_bytes(b"IMOD")
    (folder / "config.pbtxt").write_text('backend: "acl"')
    return folder


def test_without_a_compiler_the_command_to_run_elsewhere_is_shown(
    cli: Cli, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    told = cli.refused("compile", directory, "--soc", "Ascend310P3")
    assert "atc --model=" in told
    assert cli("compile", directory, "--soc", "Ascend310P3", "--dry-run").out.startswith("atc --model=")
