"""What single words of a command line may be, checked while they are parsed."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from collections.abc import Callable

__all__ = ["auto_or_whole", "existing_place", "gigabytes", "path_text", "version_text", "whole"]


def path_text(text: str) -> str:
    """Take any path but the empty one, which Python would read as the current folder."""
    if not text:
        raise ArgumentTypeError("got '', expected a path")
    return text


def existing_place(text: str) -> str:
    """Take a path that leads to something."""
    if not os.path.exists(path_text(text)):
        raise ArgumentTypeError(f"got {text!r}, which is not there, expected a folder")
    return text


def version_text(text: str) -> str:
    """Take what may be a version; whether the model has it is for the model to say."""
    if not text.strip() or (text.strip().startswith("-") and text != "-1"):
        raise ArgumentTypeError(
            f"got {text!r}, expected a version's number, 0 or more, or -1 for the highest"
        )
    return text


def gigabytes(text: str) -> float:
    """Take a size in GB, up to a million of them."""
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0 < size <= 1e6:
        raise ArgumentTypeError(f"got {text!r}, expected a number above 0, up to 1000000")
    return size


def whole(least: int) -> Callable[[str], int]:
    """Return a type for whole numbers from ``least`` to 999,999,999."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
            raise ArgumentTypeError(f"got {text!r}, expected a whole number from {least} to 999999999")
        return int(text)

    return parse


def auto_or_whole(text: str) -> int | str:
    """Take ``auto``, or a whole number from 1."""
    return text if text == "auto" else whole(1)(text)
