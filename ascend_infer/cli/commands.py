"""Which commands there are, in the order in which the help lists them."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

__all__ = ["COMMANDS", "Command", "load_command"]


class Command(Protocol):
    """What a command's module offers."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments, its description and its examples."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it and return the exit code; may raise any AscendInferError."""


_ORDER = (
    "inspect", "check", "infer", "doctor", "compile", "convert", "compare", "score", "perf", "tune", "simulate",
)  # fmt: skip

#: Those whose module is there.
COMMANDS: tuple[str, ...] = tuple(name for name in _ORDER if (Path(__file__).parent / f"{name}.py").is_file())


def load_command(name: str) -> Command:
    """Import a command's module."""
    return cast(Command, import_module(f"ascend_infer.cli.{name}"))
