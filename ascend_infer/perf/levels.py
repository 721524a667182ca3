"""Which concurrencies or request rates are measured, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ascend_infer.errors import InvalidOptionError

__all__ = ["Levels"]

#: No machine runs more callers than this; a mistyped range would be walked for ever.
_MOST_CALLERS = 10_000


@dataclass(frozen=True, slots=True)
class Levels:
    """``start:end:step``, the end included.

    Attributes
    ----------
    kind : {"concurrency", "rate"}
        Callers at the same time, whole numbers; or requests a second.
    start, end, step : float
        ``end`` 0: until the latency limit is passed.
    """

    kind: Literal["concurrency", "rate"]
    start: float = 1
    end: float = 1
    step: float = 1

    @classmethod
    def parse(cls, text: str, kind: Literal["concurrency", "rate"]) -> Levels:
        """Read ``"1:8:2"``, ``"1:8"`` (step 1) or ``"4"``.

        Raises
        ------
        InvalidOptionError
        """
        option = "concurrency-range" if kind == "concurrency" else "request-rate-range"
        example = "1:8:1" if kind == "concurrency" else "100:500:100"
        pieces = text.split(":")
        numbers = [_number(piece, kind) for piece in pieces]
        if None in numbers or not 1 <= len(pieces) <= 3:
            whole = " whole" if kind == "concurrency" else ""
            raise InvalidOptionError(
                f"--{option}: got {text!r}, expected START, START:END or START:END:STEP in{whole} numbers such as "
                f"{example}",
                option=option,
                got=text,
            )
        start, end, step = [*(number for number in numbers if number is not None), 0, 0][:3]
        if len(pieces) == 1:
            end = start
        if len(pieces) < 3:
            step = 1
        wrong = (
            "a START above 0" if start <= 0
            else "a STEP above 0" if step <= 0
            else "an END of at least START, or 0 for no end" if end and end < start
            else f"at most {_MOST_CALLERS} callers" if kind == "concurrency" and max(start, end) > _MOST_CALLERS
            else None
        )  # fmt: skip
        if wrong:
            raise InvalidOptionError(f"--{option}: got {text!r}, expected {wrong}", option=option, got=text)
        return cls(kind, start, end, step)

    @property
    def endless(self) -> bool:
        """Only the latency limit ends it."""
        return self.end == 0

    def __iter__(self) -> Iterator[float]:
        index = 0
        while True:
            # Multiplied, not added up: 0.1 ten times is not 1.
            level = self.start + index * self.step
            last = _MOST_CALLERS if self.endless and self.kind == "concurrency" else self.end
            if last and level > last * (1 + 1e-12):
                return
            yield int(level) if self.kind == "concurrency" else float(level)
            index += 1


def _number(text: str, kind: str) -> float | None:
    if kind == "concurrency":
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 1e9 else None
