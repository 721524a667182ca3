"""``ascend-infer doctor`` as the command line calls it, on the machine that runs the tests."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ascend_infer.cli import doctor, main
from ascend_infer.doctor import CHECKS

# Its presence is asked of importlib: the tests' own process does not import it.
needs_onnxruntime = pytest.mark.skipif(
    find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="ascend-infer doctor")
    doctor.add_arguments(parser)
    return doctor.run(parser.parse_args(arguments))


def has_npu() -> bool:
    return any(name.startswith(("davinci", "vdavinci")) for name in os.listdir("/dev"))


def test_the_command_says_what_it_is() -> None:
    assert doctor.NAME == "doctor"
    assert doctor.HELP


def test_the_report_says_what_would_be_used(capsys: pytest.CaptureFixture[str]) -> None:
    code = run("--time-limit", "60")
    output = capsys.readouterr().out
    assert code in (0, 1)
    assert "NPU" in output.splitlines()[-1]


def test_json_names_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    code = run("--json", "--time-limit", "60")
    report = json.loads(capsys.readouterr().out)
    assert [check["check"] for check in report["checks"]] == list(CHECKS)
    assert report["usable"] == (code == 0)


@pytest.mark.skipif(has_npu(), reason="an NPU is here")
@needs_onnxruntime
def test_a_missing_npu_is_a_problem_only_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--device", "cpu", "--time-limit", "60") == 0
    assert "runs models on the CPU" in capsys.readouterr().out
    assert run("--device", "npu", "--time-limit", "60") == 1
    output = capsys.readouterr().out
    assert "PROBLEM" in output
    assert "$ docker run --device /dev/davinci0" in output


def test_verbose_shows_the_evidence_of_everything(capsys: pytest.CaptureFixture[str]) -> None:
    run("--verbose", "--time-limit", "60")
    output = capsys.readouterr().out
    assert "linker's default" in output
    assert "CANN installations" in output


def test_a_model_is_examined_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(tmp_path / "none.onnx"), "--time-limit", "60") == 1
    assert "none.onnx is not there" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("--device", "gpu"), ("--time-limit", "0"), ("--time-limit", "nan")])
def test_wrong_arguments_are_told_apart_from_problems(
    arguments: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", *arguments]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert arguments[0].strip("-").replace("-", "_") in captured.err


def test_output_that_cannot_be_encoded_does_not_break_it(tmp_path: Path) -> None:
    model = os.fsencode(tmp_path) + b"/\xff\xe4.onnx"
    done = subprocess.run(
        [sys.executable, "-m", "ascend_infer", "doctor", model, "--time-limit", "60"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert b"is not there" in done.stdout
