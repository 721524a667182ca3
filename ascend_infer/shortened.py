"""What a caller gave, as messages show it: a long text ends in three dots."""

from __future__ import annotations

__all__ = ["shortened", "shortened_repr"]


def shortened(text: str, most: int = 60) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shortened_repr(value: object, most: int = 60) -> str:
    """Return a value's repr of at most so many characters."""
    try:
        return shortened(repr(value), most)
    except Exception:
        # Python writes no whole numbers of more than some thousand digits, but for hexadecimal ones.
        return shortened(f"{value:#x}", most) if isinstance(value, int) else f"a {type(value).__name__}"
