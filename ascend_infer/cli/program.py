"""From the words of a command line to an exit code: which command, which errors, which end."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from ascend_infer._version import __version__
from ascend_infer.cli.argument_parser import ArgumentParser, command_parser, top_parser
from ascend_infer.cli.commands import COMMANDS, load_command
from ascend_infer.cli.printing import complain, printable
from ascend_infer.errors import AscendInferError

__all__ = ["run_program"]

FOUND_WRONG, USAGE, BUG, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 130, 141


def run_program(argv: Sequence[str] | None) -> int:
    """Run a command; :func:`ascend_infer.cli.main` documents it."""
    words = list(sys.argv[1:] if argv is None else argv)
    _occupy_closed_streams()
    try:
        with _any_text(sys.stdout), _any_text(sys.stderr), _warnings_shown():
            code = _run(words)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _stop_writing()
        return PIPE_CLOSED
    except OSError as error:
        # Only the output's own errors come here: a disk that is full, a terminal that is gone.
        _stop_writing()
        complain(f"the output cannot be written: {error.strerror or error}")
        return USAGE


def _run(words: list[str]) -> int:
    debug = "--debug" in words
    try:
        command, parser = _parser_for(words)
        args = parser.parse_args(words if command is None else words[words.index(command) + 1 :])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    if command is None:
        if args.version:
            print(f"ascend-infer {__version__}")
            return 0
        if sys.stderr is not None:  # argparse would take standard output
            parser.print_help(sys.stderr)
        complain("no command was given")
        return USAGE
    try:
        return load_command(command).run(args)
    except SystemExit as end:  # a parser of the command's own
        return end.code if isinstance(end.code, int) else USAGE
    except AscendInferError as error:
        _show_traceback(debug)
        complain(str(error))
        return USAGE
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except OSError as error:
        if error.filename is None:
            if _folder_is_gone():
                complain("the current directory is not there any more: change to another one")
                return USAGE
            raise
        _show_traceback(debug)
        complain(f"{os.fsdecode(error.filename)}: {error.strerror}")
        return USAGE
    except MemoryError as error:
        _show_traceback(debug)
        complain(f"there is not enough memory{f': {error}' if str(error) else ''}")
        return USAGE
    except Exception as error:
        _show_traceback(debug)
        hint = "" if debug else "; run it again with --debug to see where"
        complain(f"this is a bug in ascend_infer: {type(error).__name__}: {error}{hint}")
        return BUG


def _show_traceback(wanted: bool) -> None:
    if wanted and sys.stderr is not None:  # traceback would take standard output
        traceback.print_exc(file=sys.stderr)


def _folder_is_gone() -> bool:
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def _parser_for(words: list[str]) -> tuple[str | None, ArgumentParser]:
    """Return the command that is meant and the parser of what follows it."""
    if words[:1] == ["help"]:
        words[:] = [*words[1:], "--help"]
    command = next((word for word in words if not word.startswith("-")), None)
    # Options before the command are the program's own.
    if command is None or any(
        word in ("-h", "--help", "--version") for word in words[: words.index(command)]
    ):
        return None, top_parser()
    if command not in COMMANDS:
        top_parser().refuse_word("command", command, COMMANDS)
    before = words[: words.index(command)]
    unknown = [word for word in before if word != "--debug"]
    parser = command_parser(command, load_command(command))
    if unknown:
        if parser.knows(unknown[0]):
            parser.error(f"option {unknown[0]} is the command's own: write it behind {command}")
        top_parser().refuse_option(unknown[0])
    return command, parser


def _occupy_closed_streams() -> None:
    """Where a shell closed a standard stream (``2>&-``), keep files of ours from getting its number.

    Libraries print to descriptor 2 whatever it is, and would write into them.
    """
    if None in (sys.stdin, sys.stdout, sys.stderr):
        for number in (0, 1, 2):
            with suppress(OSError):
                try:
                    os.fstat(number)
                except OSError:
                    os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


@contextmanager
def _any_text(stream: TextIO | None) -> Iterator[None]:
    """Let a stream of any encoding take any name: what it cannot show is written as an escape."""
    reconfigure = getattr(stream, "reconfigure", None)
    before = getattr(stream, "errors", None)
    if reconfigure is None or before is None:
        yield
        return
    reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            reconfigure(errors=before)


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Show what the library logs in the form of the command's errors while it runs, as warnings."""
    logger = logging.getLogger("ascend_infer")
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Plain())
    level, propagate = logger.level, logger.propagate
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        # "error:" is what the command itself ends with: what the library logs as one, such as a device that is lost,
        # the command may survive, or end with in words of its own.
        level = min(record.levelno, logging.WARNING)
        return f"{logging.getLevelName(level).lower()}: {printable(record.getMessage(), lines=True)}"


def _stop_writing() -> None:
    """Point standard output at nothing, or the interpreter complains when it flushes at its end."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nothing, sys.stdout.fileno())
        finally:
            os.close(nothing)
    except (OSError, ValueError, AttributeError):
        return
