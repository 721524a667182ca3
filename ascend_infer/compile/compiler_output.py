"""What the compiler writes: progress for the log, errors for the exception."""

from __future__ import annotations

import logging
import re

from ascend_infer.acl_codes import clean_message

__all__ = ["ProgressLog", "compiler_errors"]

_log = logging.getLogger("ascend_infer.compile")
_LINE_LIMIT = 4096
_ERROR = re.compile(r"^\s*\[?E[A-Z0-9]\d{4}\b", re.MULTILINE)
_LAST_LINES = 12
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class ProgressLog:
    """Puts the compiler's lines into the log as they come.

    Dots without an end of line, which atc prints while it works, are told when a line ends.
    """

    def __init__(self) -> None:
        self._rest = b""

    def __call__(self, data: bytes) -> None:
        """Take in a piece of output."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LINE_LIMIT:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._tell(line)

    def close(self) -> None:
        """Tell what stands on the last line."""
        self._tell(self._rest)
        self._rest = b""

    @staticmethod
    def _tell(line: bytes) -> None:
        text = _COLOURS.sub("", line[:_LINE_LIMIT].decode("utf-8", "replace"))
        text = "".join(c if c.isprintable() else " " for c in text).strip()
        if text.strip(". "):
            _log.info("atc: %s", text)


def compiler_errors(output: str) -> str:
    """Return the compiler's own errors, cleaned; its last lines where it names none."""
    output = _COLOURS.sub("", output)
    first = _ERROR.search(output)
    if first is not None:
        return clean_message(output[first.start() :].lstrip(), limit=4000)
    lines = [line for line in map(str.rstrip, output.splitlines()) if line.strip(". ")]
    return clean_message("\n".join(lines[-_LAST_LINES:]))
