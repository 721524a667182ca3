"""``NAME:1,2,3`` of a command line, perf_analyzer's form for an input's shape or range."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ascend_infer.errors import InvalidOptionError
from ascend_infer.refusal import unknown_name
from ascend_infer.trial_inputs import ValueRange
from ascend_infer.types import TensorSpec

__all__ = ["parse_ranges", "parse_sizes"]


def parse_sizes(words: Sequence[str], inputs: Sequence[TensorSpec], model: str) -> dict[str, tuple[int, ...]]:
    """Read ``--shape NAME:3,224,224``.

    Raises
    ------
    InvalidInputError, InvalidOptionError
    """
    found: dict[str, tuple[int, ...]] = {}
    for word in words:
        name, text = _split("shape", word, inputs, model, found)
        pieces = text.split(",") if text else []
        if not all(piece.isascii() and piece.isdigit() and len(piece) < 12 for piece in pieces):
            raise InvalidOptionError(
                f"--shape {word}: got {text!r}, expected sizes such as 3,224,224", option="shape", got=text
            )
        found[name] = tuple(map(int, pieces))
    return found


def parse_ranges(words: Sequence[str], inputs: Sequence[TensorSpec], model: str) -> dict[str, ValueRange]:
    """Read ``--range NAME:0,30521``.

    Raises
    ------
    InvalidInputError, InvalidOptionError
    """
    found: dict[str, ValueRange] = {}
    for word in words:
        name, text = _split("range", word, inputs, model, found)
        found[name] = ValueRange.parse(text)
    return found


def _split(
    option: str, word: str, inputs: Sequence[TensorSpec], model: str, found: Collection[str]
) -> tuple[str, str]:
    """Part a word at the end of the input's name, which may hold a colon itself."""
    names = [tensor.name for tensor in inputs]
    matching = [name for name in names if word.startswith(f"{name}:")]
    if not matching:
        name, colon, _ = word.rpartition(":")
        if not colon:
            raise InvalidOptionError(
                f"--{option} {word}: got no input's name, expected NAME:{'3,224,224' if option == 'shape' else '0,9'}",
                option=option,
                got=word,
            )
        raise unknown_name(model, "input", name, names)
    name = max(matching, key=len)
    if name in found:
        raise InvalidOptionError(
            f"--{option} {word}: input {name!r} has a {option} already", option=option, got=word
        )
    return name, word[len(name) + 1 :]
