"""Texts as outputs have them: UTF-8, whatever a file's name is made of."""

from __future__ import annotations

import re

__all__ = ["utf8_id", "utf8_text"]

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SURROGATE_OR_LIKE_ONE = re.compile(r"[\ud800-\udfff]|\\(?=x[0-9a-f]{2}|u[0-9a-f]{4})")


def utf8_text(text: str) -> str:
    r"""Return a text with each byte that is not UTF-8 as ``\xe9``; a surrogate that is no such byte as ``\ud83d``."""
    return text if text.isascii() else _SURROGATE.sub(_escaped, text)


def utf8_id(row_id: int | str) -> str:
    r"""Return a row's id as outputs have it: as :func:`utf8_text`, and no two ids are written alike.

    A backslash that would be read as the beginning of such an escape is one itself, ``\x5c``.
    """
    text = str(row_id)
    return text if text.isascii() and "\\" not in text else _SURROGATE_OR_LIKE_ONE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    # Python reads a byte that is not UTF-8 as a surrogate from U+DC80 on, with the byte in it.
    return f"\\x{code & 0xFF:02x}" if code == 0x5C or 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"
