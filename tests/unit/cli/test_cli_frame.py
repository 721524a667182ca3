"""Which command runs, what its end is, what goes where."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import pytest
from cli_run import Cli

import ascend_infer
from ascend_infer.cli import main, program
from ascend_infer.cli.commands import COMMANDS, load_command
from ascend_infer.errors import AscendInferError, ModelNotFoundError


def pretend(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    command = SimpleNamespace(NAME="check", HELP="nothing", add_arguments=lambda parser: None, run=run)
    monkeypatch.setattr(program, "load_command", lambda name: command)


def raising(error: BaseException) -> object:
    def run(args: object) -> int:
        raise error

    return run


def test_version(cli: Cli) -> None:
    done = cli("--version")
    assert (done.code, done.out, done.err) == (0, f"ascend-infer {ascend_infer.__version__}\n", "")


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("help",), ("--help", "inspect")])
def test_help_lists_every_command_and_examples(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert done.code == 0
    assert not done.err
    for name in COMMANDS:
        assert f"  {name} " in done.out
    assert "ascend-infer infer model.onnx --input" in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(cli: Cli, name: str) -> None:
    own_name = load_command(name).NAME
    assert own_name == name
    for words in ((name, "--help"), ("help", name)):
        done = cli(*words)
        assert done.code == 0
        assert f"usage: ascend-infer {name}" in done.out


@pytest.mark.parametrize("name", ["inspect", "check", "infer"])
def test_help_shows_examples_line_by_line(cli: Cli, name: str) -> None:
    lines = cli(name, "--help").out.splitlines()
    examples = [line for line in lines if line.startswith(f"  ascend-infer {name} ")]
    assert len(examples) >= 3


def test_nothing_at_all_shows_the_help_as_an_error(cli: Cli) -> None:
    done = cli()
    assert done.code == 2
    assert not done.out
    assert "commands" in done.err
    assert done.err.endswith("error: no command was given\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("inspct", "x"), "did you mean 'inspect'?"),
        (("zzz",), "it is one of inspect, check, infer"),
        (("inspect", "--jsn", "x"), "did you mean '--json'?"),
        (("inspect", "x", "--jso"), "did you mean '--json'?"),
        (("infer", "x", "--inputs=3"), "did you mean '--input'?"),
        (("--versoin",), "did you mean '--version'?"),
        (("--jsn", "inspect", "x"), "no option '--jsn'"),
        (("check",), "PATH"),
        (("check", "x", "y"), "'y' more than expected"),
        (("infer", "x", "--top-k", "0"), "expected a whole number from 1 to 999999999"),
        (("infer", "x", "--top-k", "many"), "expected a whole number from 1 to 999999999"),
        (("infer", "x", "--zeros", "--random"), "not allowed with"),
        (("inspect", "x", "--version", "-2"), "got '-2', expected a version's number, 0 or more"),
    ],
)
def test_wrong_words_are_told_what_was_meant(cli: Cli, words: tuple[str, ...], meant: str) -> None:
    message = cli.refused(*words)
    assert meant in message
    assert message.count("\n") == 1


def test_an_error_of_the_library_is_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, raising(ModelNotFoundError("m is not there", path="m")))
    done = cli("check")
    assert (done.code, done.out, done.err) == (2, "", "error: m is not there\n")


@pytest.mark.parametrize("words", [("check", "--debug"), ("--debug", "check")])
def test_debug_shows_where_it_was_raised(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    pretend(monkeypatch, raising(ModelNotFoundError("m is not there", path="m")))
    done = cli(*words)
    assert done.code == 2
    assert "Traceback (most recent call last)" in done.err
    assert done.err.endswith("error: m is not there\n")


def test_a_bug_says_that_it_is_one(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, raising(KeyError("oops")))
    done = cli("check")
    assert done.code == 3
    assert (
        done.err
        == "error: this is a bug in ascend_infer: KeyError: 'oops'; run it again with --debug to see where\n"
    )
    assert "Traceback" in cli("check", "--debug").err


def test_a_file_that_cannot_be_used_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, raising(PermissionError(13, "Permission denied", "/some/file")))
    assert cli.refused("check") == "error: /some/file: Permission denied\n"


def test_ctrl_c_is_quiet(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, raising(KeyboardInterrupt()))
    done = cli("check")
    assert (done.code, done.out, done.err) == (130, "", "")


def test_a_name_cannot_steer_the_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, raising(ModelNotFoundError("\x1b[31mred\r\nnext \udcff", path="m")))
    assert cli.refused("check") == "error: \\x1b[31mred\\r\nnext \\udcff\n"


def test_the_librarys_warnings_are_shown_and_its_logger_is_left_as_it_was(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("ascend_infer")
    before = (list(logger.handlers), logger.level, logger.propagate)

    def run(args: object) -> int:
        logger.warning("beware of %s", "\x07")
        logger.info("nothing")
        return 0

    pretend(monkeypatch, run)
    done = cli("check")
    assert (done.code, done.out, done.err) == (0, "", "warning: beware of \\x07\n")
    assert (list(logger.handlers), logger.level, logger.propagate) == before


def test_what_the_library_logs_is_never_a_second_error(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(args: object) -> int:
        logging.getLogger("ascend_infer").error("device sim:0 is lost")
        raise AscendInferError("no instance is in service\nwhat the runtime said")

    pretend(monkeypatch, run)
    done = cli("check")
    assert done.code == 2
    assert done.err == (
        "warning: device sim:0 is lost\nerror: no instance is in service\nwhat the runtime said\n"
    )


def test_words_come_from_the_process_when_none_are_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["anything", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("ascend-infer ")
