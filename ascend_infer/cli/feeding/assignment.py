"""Which ``NAME=VALUE`` of the command line is meant for which input."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_infer.cli.feeding.array_file import npz_members
from ascend_infer.errors import InvalidInputError, InvalidOptionError
from ascend_infer.refusal import unknown_name
from ascend_infer.types import TensorSpec

__all__ = ["GivenValue", "assign_inputs", "parse_shapes"]


@dataclass(frozen=True, slots=True)
class GivenValue:
    """What was given for an input: the text, and the member of an .npz file that was settled on."""

    text: str
    member: str | None = None


def assign_inputs(
    words: Sequence[str], inputs: Sequence[TensorSpec], model: str
) -> dict[str, list[GivenValue]]:
    """Return the values of each input that was given one, in the order of the command line.

    An input's name may hold ``=``, so the model's own names decide where it ends. A value without a name is
    for a model with one input; an .npz file without a name feeds every input that it has a member for.

    Raises
    ------
    InvalidInputError, InvalidOptionError
    """
    found: dict[str, list[GivenValue]] = {}
    for word in words:
        named = _split(word, inputs)
        if named is not None:
            found.setdefault(named[0], []).append(GivenValue(named[1]))
            continue
        left, equals, _ = word.partition("=")
        if equals and not os.path.exists(word) and not word.startswith(("[", "{", '"', "text:")):
            raise unknown_name(model, "input", left, [tensor.name for tensor in inputs])
        if len(inputs) == 1:
            found.setdefault(inputs[0].name, []).append(GivenValue(word))
        else:
            for name in _members_for(word, inputs, model):
                found.setdefault(name, []).append(GivenValue(word, name))
    return found


def parse_shapes(
    words: Sequence[str], inputs: Sequence[TensorSpec], model: str
) -> dict[str, tuple[int, ...]]:
    """Read ``--shape NAME=1x3x224x224`` (or with commas; the name may be left out where there is one input).

    Raises
    ------
    InvalidInputError, InvalidOptionError
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for word in words:
        named = _split(word, inputs)
        if named is None:
            left, equals, _ = word.partition("=")
            if equals or len(inputs) != 1:
                raise unknown_name(model, "input", left, [tensor.name for tensor in inputs])
            named = inputs[0].name, word
        name, text = named
        if name in shapes:
            raise InvalidOptionError(
                f"--shape {word}: input {name!r} has a shape already, {list(shapes[name])}",
                option="shape",
                got=word,
            )
        # NAME= is the shape of one value.
        pieces = text.replace(",", "x").split("x") if text or not word else []
        if not all(piece.isascii() and piece.isdigit() and len(piece) < 12 for piece in pieces):
            raise InvalidOptionError(
                f"--shape {word}: got {text!r}, expected sizes such as 1x3x224x224", option="shape", got=text
            )
        shapes[name] = tuple(map(int, pieces))
    return shapes


def _split(word: str, inputs: Sequence[TensorSpec]) -> tuple[str, str] | None:
    names = [tensor.name for tensor in inputs if word.startswith(f"{tensor.name}=")]
    if not names:
        return None
    name = max(names, key=len)
    return name, word[len(name) + 1 :]


def _members_for(word: str, inputs: Sequence[TensorSpec], model: str) -> list[str]:
    names = [tensor.name for tensor in inputs]
    if word.endswith(".npz") and os.path.isfile(word):
        members = npz_members(word)
        matching = [name for name in names if name in members]
        if matching:
            return matching
        raise InvalidInputError(
            f"{word} has no member named as an input: got {_listed(members)}, expected {_listed(names)}",
            expected=_listed(names),
            got=_listed(members),
        )
    raise InvalidInputError(
        f"model {model!r} has {len(names)} inputs: got {word!r} without a name, expected --input NAME={word} "
        f"with one of {_listed(names)}",
        expected=_listed(names),
        got=word,
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12]) or "none"
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
