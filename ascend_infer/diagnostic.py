"""One finding about a file: where it is, what stands there, what should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Diagnostic"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning about a configuration or a model directory.

    Attributes
    ----------
    message : str
        What is wrong, one sentence that stands alone.
    severity : {"error", "warning"}
    file : str or None
        Path as the user gave it.
    line, column : int or None
        1-based; None where the finding is about something absent or outside the file.
    field : str or None
        Path of the field, ``"input[0].dims[1]"``.
    got, expected : str or None
    hint : str or None
        The fix, where one can be guessed: ``"did you mean max_batch_size?"``.
    """

    message: str
    severity: Literal["error", "warning"] = "error"
    file: str | None = None
    line: int | None = None
    column: int | None = None
    field: str | None = None
    got: str | None = None
    expected: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}:{self.column}" if self.column is not None else f":{self.line}"
            place = place.removeprefix(":")
        text = f"{place}: {self.severity}: {self.message}" if place else f"{self.severity}: {self.message}"
        if self.field and self.field not in self.message:
            text += f" [{self.field}]"
        if self.got is not None and self.expected is not None:
            text += f"; got {self.got}, expected {self.expected}"
        elif self.got is not None:
            text += f"; got {self.got}"
        elif self.expected is not None:
            text += f"; expected {self.expected}"
        if self.hint:
            text += f"; {self.hint}"
        return text
