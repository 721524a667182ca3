"""``simulate``: what is wrong with its words is said before a program runs, in one line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from cli_run import Cli
from onnx_models import identity, write

if sys.platform != "linux":
    pytest.skip("the simulator is built on Linux only", allow_module_level=True)

RUN = ("--", sys.executable, "-c", "raise SystemExit(7)")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--hbm-gb", "nan", *RUN), "expected a number above 0"),
        (("--hbm-gb", "inf", *RUN), "expected a number above 0"),
        (("--devices", "-1", *RUN), "expected a whole number"),
        (("--threads", "-5", *RUN), "expected a whole number"),
        (("--report", "/none/report.json", *RUN), "/none is not"),
        (("--report", "/", *RUN), "it is a directory"),
        (("--config", "/dev/zero", *RUN), "it is a device, not a file"),
        ((), "got nothing to do"),
        (("--", "/none/program"), "cannot be started"),
        (("compile",), "the following arguments are required"),
        (("compile", "m.onnx", "-o", "m.om", "--bogus"), "there is no option '--bogus'"),
        (("describe", "none.om"), "does not exist"),
    ],
)
def test_wrong_words(cli: Cli, words: tuple[str, ...], says: str) -> None:
    assert says in cli.refused("simulate", *words)


def test_pipes_are_not_waited_for(cli: Cli, tmp_path: Path) -> None:
    model, pipe = write(identity(), tmp_path / "m.onnx"), tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "it is a pipe" in cli.refused("simulate", "--config", pipe, *RUN)
    assert "it is a pipe" in cli.refused(
        "simulate", "compile", model, "-o", tmp_path / "m.om", "--batch", "1", "--aipp", pipe
    )


def test_the_output_is_never_the_model_itself(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write(identity(), tmp_path / "m.onnx")
    before = model.read_bytes()
    (tmp_path / "link.om").symlink_to(model)
    monkeypatch.chdir(tmp_path)
    for output in (model, "m.onnx", "./link.om"):
        told = cli.refused("simulate", "compile", model, "-o", output, "--batch", "1,2")
        assert f"output {output} is the model itself" in told
    assert model.read_bytes() == before


@pytest.mark.parametrize("content", ["[]", "{", "[" * 100_000, '{"nonsense": 1}'])
def test_a_configuration_that_is_none(cli: Cli, tmp_path: Path, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    assert f"--config {tmp_path / 'c.json'}: " in cli.refused(
        "simulate", "--config", tmp_path / "c.json", *RUN
    )


def test_help_of_what_it_makes_ends_well(cli: Cli) -> None:
    done = cli("simulate", "compile", "--help")
    assert done.code == 0
    assert "MODEL.onnx" in done.out
