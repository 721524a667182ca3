"""How the commands put names, sizes and tables on a terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

__all__ = ["columns", "complain", "note", "print_json", "printable", "shorten", "size_text"]


def printable(text: object, *, lines: bool = False) -> str:
    """Return a text in which nothing can steer the terminal: control characters are written as escapes.

    Parameters
    ----------
    text : object
        Its ``str``.
    lines : bool
        Leave line breaks alone.
    """
    return "".join(
        character
        if character.isprintable() or (lines and character == "\n")
        else character.encode("unicode_escape", "backslashreplace").decode("ascii")
        for character in str(text)
    )


def shorten(text: object, limit: int) -> str:
    """Return a text of at most ``limit`` characters, printable."""
    clean = printable(text)
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"


def size_text(size: int) -> str:
    """Return a number of bytes for a reader, ``"17.7 MiB"``."""
    if size < 1024:
        return f"{size} B"
    value = float(size)
    for unit in ("KiB", "MiB"):
        value /= 1024
        if value < 1024:
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} GiB"


def columns(rows: Iterable[Sequence[object]], indent: str = "  ") -> list[str]:
    """Lay out rows in columns that line up; the last one is not padded."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [
        max(len(row[index]) for row in cells if index < len(row))
        for index in range(max(map(len, cells), default=0))
    ]
    return [
        indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in cells
    ]


def print_json(value: Any) -> None:
    """Print plain Python values as JSON, one document.

    NaN and infinities, which JSON does not have, are the strings that protobuf's JSON has for them.
    """
    # What another encoding cannot show would be escaped in a way that JSON does not have.
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    try:
        text = json.dumps(value, indent=2, ensure_ascii=not unicode, allow_nan=False)
    except ValueError:
        text = json.dumps(_spelled(value), indent=2, ensure_ascii=not unicode, allow_nan=False)
    print(text)


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spelled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def note(text: str) -> None:
    """Tell the user something that is no result, on standard error."""
    _tell(f"note: {printable(text, lines=True)}")


def complain(text: str) -> None:
    """Tell the user what went wrong, on standard error."""
    _tell(f"error: {printable(text, lines=True)}")


def _tell(line: str) -> None:
    # Where standard error is closed, print(file=None) would write among the results.
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)
