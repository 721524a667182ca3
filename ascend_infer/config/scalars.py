"""Checking one scalar of protobuf text as protobuf's own parser does, and saying what is wrong with it."""

from __future__ import annotations

import re

from ascend_infer.config.schema import ENUMS
from ascend_infer.config.suggestions import enum_value_hint

__all__ = ["RANGES", "ScalarError", "check_scalar", "unescape"]

RANGES = {
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint32": (0, (1 << 32) - 1),
    "uint64": (0, (1 << 64) - 1),
}
_TRUE, _FALSE = ("true", "t", "1", "True"), ("false", "f", "0", "False")
_OCTAL = re.compile(r"(-?)0(\d+)$")
_OCTAL_FLOAT = re.compile(r"-?0[0-9]+")
_INFINITE = re.compile(r"-?inf(?:inity)?f?$", re.IGNORECASE)
_NAN = re.compile(r"nanf?$", re.IGNORECASE)


class ScalarError(ValueError):
    """A token that is no value of its field's type: what was expected and, if it can be guessed, the fix."""

    def __init__(self, expected: str, hint: str | None = None) -> None:
        super().__init__(expected)
        self.expected = expected
        self.hint = hint


def unescape(text: str) -> str:
    """Return what a string token in its quotes stands for; ScalarError when an escape means nothing."""
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    from google.protobuf import text_encoding

    try:
        return text_encoding.CUnescape(inner).decode("utf-8")
    except ValueError as error:
        raise ScalarError("a string whose escapes are C's", f"write a backslash as \\\\ ({error})") from error


def _integer(type_name: str, text: str) -> None:
    octal = _OCTAL.match(text)
    try:
        value = int(f"{octal[1]}0o{octal[2]}" if octal else text, 0)
    except ValueError:
        raise ScalarError("an integer", _integer_hint(text)) from None
    low, high = RANGES[type_name]
    if not low <= value <= high:
        raise ScalarError(f"an integer from {low} to {high}")


def _integer_hint(text: str) -> str | None:
    bare = text.strip("\"'")
    if bare != text and re.fullmatch(r"[+-]?[0-9]+", bare):
        return f"write {bare} without quotes"
    try:
        value = float(bare.rstrip("fF"))
    except ValueError:
        return None
    whole = value == value and abs(value) < 1e15 and value.is_integer()
    return f"write {int(value)}" if whole else None


def _float(text: str) -> None:
    if _OCTAL_FLOAT.match(text):
        raise ScalarError("a number without leading zeros")
    try:
        float(text)
    except ValueError:
        if _INFINITE.match(text) or _NAN.match(text):
            return
        try:
            float(text.rstrip("fF"))
        except ValueError:
            bare = text.strip("\"'")
            raise ScalarError("a number", f"write {bare} without quotes" if bare != text else None) from None


def _boolean(text: str) -> None:
    if text in _TRUE or text in _FALSE:
        return
    bare = text.strip("\"'").lower()
    meant = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}
    hint = meant.get(bare)
    raise ScalarError("true or false", f"write {hint}" if hint else None)


def _enum(type_name: str, text: str) -> None:
    values = ENUMS[type_name]
    if text in values:
        return
    try:
        number = int(text, 0)
    except ValueError:
        shown = [value for value in values if value != "TYPE_INVALID"]
        hint = enum_value_hint(text, values)
        raise ScalarError(f"one of {', '.join(shown)}", hint) from None
    low, high = RANGES["int32"]
    if not low <= number <= high:
        raise ScalarError(f"an integer from {low} to {high}")


def check_scalar(type_name: str, text: str) -> None:
    """Check a token's text against a scalar type other than string.

    Raises
    ------
    ScalarError
        When protobuf's parser would refuse it.
    """
    if type_name in RANGES:
        _integer(type_name, text)
    elif type_name in ("float", "double"):
        _float(text)
    elif type_name == "bool":
        _boolean(text)
    else:
        _enum(type_name, text)
