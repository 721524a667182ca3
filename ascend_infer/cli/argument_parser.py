"""argparse, with errors that guess what was meant and help whose examples keep their lines."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from ascend_infer.cli.commands import COMMANDS, Command, load_command
from ascend_infer.cli.printing import complain

__all__ = ["ArgumentParser", "command_parser", "top_parser"]

PROGRAM = "ascend-infer"

_EXAMPLES = """\
examples:
  ascend-infer inspect model_repository/resnet50     what to feed it, what comes out, where it runs
  ascend-infer check model_repository                every mistake in every config.pbtxt at once
  ascend-infer infer model.onnx --input photo.jpg --preset imagenet --top-k 5

exit codes:
  0 done; 1 done, and something is wrong with what was looked at; 2 wrong arguments or an error
"""


class _HelpFormatter(argparse.HelpFormatter):
    """Wraps paragraphs; indented lines stay as they are, and the line above them."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = []
        for block in text.strip("\n").split("\n\n"):
            keep = any(line.startswith(" ") for line in block.split("\n"))
            blocks.append(
                textwrap.indent(block, indent)
                if keep
                else textwrap.fill(block, width, initial_indent=indent, subsequent_indent=indent)
            )
        return "\n\n".join(blocks)


class ArgumentParser(argparse.ArgumentParser):
    """One command's parser: exits with 2 and one line that says what was meant."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, allow_abbrev=False, **options)
        self.add_argument(
            "--debug", action="store_true", help="with an error, show the traceback: where it was raised"
        )

    def parse_args(  # type: ignore[override]  # argparse's overloads take a namespace of any type
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse everything; what is left over is an error that names the nearest option."""
        found, left = self.parse_known_args(args, namespace)
        if left:
            word = left[0]
            if word.startswith("-") and len(word) > 1:
                self.refuse_option(word)
            self.error(f"got {word!r} more than expected")
        return found

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and how to get help; exits with 2."""
        complain(f"{message} (see {self.prog} --help)")
        self.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help; argparse's own hides that it could not be written."""
        stream = file or sys.stderr
        if stream is not None:
            stream.write(message)

    def knows(self, word: str) -> bool:
        """Whether a word is one of the options, or begins with one and ``=``."""
        return word.partition("=")[0] in self._options()

    def refuse_option(self, word: str) -> NoReturn:
        """Exit for an option that does not exist."""
        self.refuse_word("option", word.partition("=")[0], self._options())

    def _options(self) -> list[str]:
        return [option for action in self._actions for option in action.option_strings]

    def refuse_word(self, kind: str, word: str, known: Iterable[str]) -> NoReturn:
        """Exit for a word that is none of the known ones."""
        words = [option for option in known if not option.startswith("-") or option.startswith("--")]
        close = get_close_matches(word, words, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f"; it is one of {', '.join(words)}"
        self.error(f"there is no {kind} {word!r}{hint}")


def top_parser() -> ArgumentParser:
    """Make the parser of a line without a command; its help lists the commands."""
    modules = {name: load_command(name) for name in COMMANDS}
    width = max(map(len, modules))
    listed = "\n".join(f"  {name:<{width}}  {module.HELP}" for name, module in modules.items())
    parser = ArgumentParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [--version] COMMAND ...",
        description="Look at, check and run trained models for Huawei Ascend NPUs, with or without one.",
        epilog=f"commands ({PROGRAM} COMMAND --help says more):\n{listed}\n\n{_EXAMPLES}",
    )
    parser.add_argument("--version", action="store_true", help="show this library's version and exit")
    return parser


def command_parser(name: str, module: Command) -> ArgumentParser:
    """Make a command's parser."""
    parser = ArgumentParser(
        prog=f"{PROGRAM} {name}", description=f"{module.HELP[:1].upper()}{module.HELP[1:]}."
    )
    module.add_arguments(parser)
    return parser
