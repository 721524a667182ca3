"""Cutting protobuf text into tokens with their positions, lenient about characters that come from web pages.

The tokens are those of protobuf's own tokenizer (protobuf.dev/reference/protobuf/textformat-spec). Characters
that it does not know but whose meaning is plain (curly quotes, full-width punctuation and digits) are read as
what they look like, and reported, so that the rest of the file is checked in the same pass.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from ascend_infer.config.findings import Findings

__all__ = ["Token", "tokenize"]

_PATTERN = re.compile(
    r"""
      (?P<space>(?:\s+|\#[^\n]*)+)
    | (?P<identifier>[A-Za-z_][0-9A-Za-z_+-]*)
    | (?P<number>(?:[0-9+-]|\.[0-9])[0-9A-Za-z_.+-]*)
    | (?P<string>"[^"\n\\]*(?:\\.[^"\n\\]*)*(?:"|\\?$) | '[^'\n\\]*(?:\\.[^'\n\\]*)*(?:'|\\?$))
    | (?P<curly>[“”„‟«»‘’‚‛＂＇][^“”„‟«»‘’‚‛＂＇"'\n]*[“”„‟«»‘’‚‛＂＇"']?)
    | (?P<wide>[０-９Ａ-Ｚａ-ｚ＿－．＋]+)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.MULTILINE,
)
_LOOKS_LIKE = {
    "：": ":",
    "，": ",",
    "、": ",",
    "；": ";",
    "｛": "{",
    "｝": "}",
    "［": "[",
    "］": "]",
    "【": "[",
    "】": "]",
    "（": "(",
    "）": ")",
    "＜": "<",
    "＞": ">",
    "＝": "=",
    "＃": "#",
    "−": "-",
    "–": "-",
    "—": "-",
}
_INVISIBLE = frozenset("\ufeff\u200b\u200c\u200d\u200e\u200f\u2060\u00ad\u180e\0")
_WIDE_QUOTES = "“”„‟«»‘’‚‛＂＇"


class Token(NamedTuple):
    """One token; ``kind`` is identifier, number, string, mark, bad (a character that means nothing) or end.

    ``line`` and ``column`` are 1-based and count characters, ``glued`` says that nothing separates it from
    the token before it.
    """

    kind: str
    text: str
    line: int
    column: int
    glued: bool


class _Strangers:
    """Characters that do not belong here, by what they are: the first place, and how often."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str], tuple[int, int]] = {}
        self.times: dict[tuple[str, str], int] = {}

    def note(self, severity: str, character: str, line: int, column: int) -> None:
        key = severity, character
        self.places.setdefault(key, (line, column))
        self.times[key] = self.times.get(key, 0) + 1

    def report(self, findings: Findings) -> None:
        for (severity, character), place in self.places.items():
            times = self.times[severity, character]
            again = f" ({times} times in this file)" if times > 1 else ""
            add = findings.error if severity == "error" else findings.warning
            add("", f"{_kind(character)} {_name(character)}{again}", hint=_fix(character), at=place)


def _name(character: str) -> str:
    name = unicodedata.name(character, "no name")
    shown = f"'{character}' " if character.isprintable() and not character.isspace() else ""
    return f"{shown}U+{ord(character):04X} {name}"


def _kind(character: str) -> str:
    if character in _WIDE_QUOTES:
        return "curly or full-width quotation mark"
    if character in _INVISIBLE:
        return "invisible character"
    if character.isspace():
        return "space that is no ASCII space"
    if character in _LOOKS_LIKE or unicodedata.east_asian_width(character) == "F":
        return "full-width or typographic character"
    return "unexpected character"


def _fix(character: str) -> str:
    if character == "\ufeff":
        return "save the file as UTF-8 without a byte order mark"
    if character in _WIDE_QUOTES:
        return 'write straight quotes: "..."'
    if character in _INVISIBLE:
        return "delete it"
    if character.isspace():
        return "write an ordinary space; Triton's own parser refuses this one"
    plain = _LOOKS_LIKE.get(character) or unicodedata.normalize("NFKC", character)
    if plain != character and plain.isascii():
        return f"write {plain!r}"
    return "only strings and comments may hold it"


def tokenize(text: str, findings: Findings) -> list[Token]:
    """Cut the text; what does not belong is reported to ``findings``. The last token is of kind ``end``."""
    tokens: list[Token] = []
    strangers = _Strangers()
    plain = text.isascii()
    line, line_start, glued = 1, 0, False
    for match in _PATTERN.finditer(text):
        kind, found = match.lastgroup, match.group()
        column = match.start() - line_start + 1
        if kind == "space":
            if not plain and not found.isascii():
                _note_spaces(found, line, column, strangers)
            newlines = found.count("\n")
            if newlines:
                line += newlines
                line_start = match.start() + found.rindex("\n") + 1
            glued = False
            continue
        if kind == "curly":
            for offset, character in enumerate(found):
                if character in _WIDE_QUOTES:
                    strangers.note("error", character, line, column + offset)
            tokens.append(Token("string", _straighten(found), line, column, glued))
        elif kind == "wide":
            strangers.note("error", found[0], line, column)
            folded = unicodedata.normalize("NFKC", found)
            number = folded[0] in "0123456789+-."
            tokens.append(Token("number" if number else "identifier", folded, line, column, glued))
        elif kind == "mark":
            if found in _INVISIBLE:
                strangers.note("error", found, line, column)
                continue
            if found in _LOOKS_LIKE:
                strangers.note("error", found, line, column)
                tokens.append(Token("mark", _LOOKS_LIKE[found], line, column, glued))
            elif found.isascii():
                tokens.append(Token("mark", found, line, column, glued))
            else:
                strangers.note("error", found, line, column)
                tokens.append(Token("bad", found, line, column, glued))
        else:
            tokens.append(Token(str(kind), found, line, column, glued))
        glued = True
    tokens.append(Token("end", "", line, len(text) - line_start + 1, False))
    strangers.report(findings)
    return tokens


def _note_spaces(space: str, line: int, column: int, strangers: _Strangers) -> None:
    for row in space.split("\n"):
        for offset, character in enumerate(row.split("#", 1)[0]):
            if not character.isascii():
                strangers.note("warning", character, line, column + offset)
        line, column = line + 1, 1


def _straighten(found: str) -> str:
    """Return a string token in straight quotes for one in curly ones."""
    closed = len(found) > 1 and found[-1] in _WIDE_QUOTES + "\"'"
    inner = found[1:-1] if closed else found[1:]
    return '"' + inner.replace("\\", "\\\\") + '"'
