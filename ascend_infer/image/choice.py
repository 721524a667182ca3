"""One of a few words: the check, and the error that says which word was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ascend_infer.errors import InvalidOptionError

__all__ = ["did_you_mean", "one_of"]


def did_you_mean(got: object, known: Iterable[str]) -> str:
    """Return ``"did you mean 'x'? "`` for the nearest known word, or an empty string."""
    near = difflib.get_close_matches(str(got).lower(), list(known), n=1)
    return f"did you mean {near[0]!r}? " if near else ""


def one_of(option: str, got: object, known: Iterable[str]) -> str:
    """Return ``got`` when it is one of the known words, else raise InvalidOptionError."""
    words = list(known)
    if isinstance(got, str) and got in words:
        return got
    hint = did_you_mean(got, words)
    raise InvalidOptionError(
        f"{option}={got!r}: {hint}it is one of {', '.join(map(repr, words))}", option=option, got=got
    )
