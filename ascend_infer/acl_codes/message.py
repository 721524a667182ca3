"""What the runtime says of an error (``aclGetRecentErrMsg``), without its noise.

The text is a list of errors: a line that begins with a code of its own (``EE1001:``, ``E20001:``), causes,
solutions, and a trace of C++ places. It grows on its own thread from call to call, so that old errors stand
before the new one, and asking for it on a thread without a context adds an error about that very question.
"""

from __future__ import annotations

import re

__all__ = ["clean_message"]

#: Of one cleaned text; a log line, not a log.
_LIMIT = 2000
#: Of the raw text, from its end.
_READ = 1 << 16
_CONTEXT_NULL = 107002

# "EE1001: ", "E20001: [PID: 200452] 2025-06-16-13:02:36.801.136 Failed to ..."
_HEAD = re.compile(r"[EW][A-Z0-9]\d{4}\s*:|\[?E[A-Z0-9]\d{4}\]")
_PROCESS = re.compile(
    r"\[PID:\s*\d+\]\s*|\bpid\s*[:=]\s*\d+[,;]?\s*|\btid\s*[:=]\s*\d+[,;]?\s*", re.IGNORECASE
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[-T ]\d\d:\d\d:\d\d(?:[.:,]\d+)*\s*")
_PLACE = re.compile(r"\[(?:FUNC|FILE|LINE|THREAD):[^\]]*\]", re.IGNORECASE)
_SOURCE = re.compile(r"\(?\b[\w./-]+\.(?:cc|cpp|cxx|c|h|hpp):\d+\)?:?\s*")
_TRACE = re.compile(r"TraceBack\s*\(most recent call last\)\s*:?", re.IGNORECASE)
# What asking for the text itself leaves on a thread without a context.
_ASKING = re.compile(r"rtGetDevMsg|GetDevErrMsg|GetDevMsg", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def clean_message(text: str | bytes | None, *, code: int | None = None, limit: int = _LIMIT) -> str:
    """Return what matters of a runtime's text, at most ``limit`` characters.

    Codes (``EE1001``), causes and solutions stay; times, process ids, places in C++ sources, headings of
    traces and whatever was said before go. Where it is too long, older errors go first, then the end.

    Parameters
    ----------
    text : str, bytes or None
    code : int, optional
        The code it belongs to: with 107002 an error about a missing context is no noise.
    limit : int
        Characters, at least 80.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not text:
        return ""
    text = text[-_READ:]
    blocks = [block for block in map(_clean_block, _blocks(text)) if block]
    if code != _CONTEXT_NULL:
        blocks = [kept for block in blocks if (kept := _without_asking(block))]
    said: set[str] = set()
    told = []
    for block in reversed(blocks):  # a repeated line stays where it was said last
        lines = [line for line, _ in block if line.strip() not in said]
        said.update(line.strip() for line in lines)
        told.append("\n".join(lines))
    return _bounded([lines for lines in reversed(told) if lines], max(limit, 80))


def _blocks(text: str) -> list[list[str]]:
    """Cut the text at the lines that begin an error."""
    blocks: list[list[str]] = []
    for line in _CONTROL.sub(" ", text.replace("\r", "\n")).split("\n"):
        if not line.strip():
            continue
        if not blocks or _HEAD.match(line.strip()):
            blocks.append([])
        blocks[-1].append(line)
    return blocks


def _clean_block(lines: list[str]) -> list[tuple[str, bool]]:
    """Return each line without noise, and whether it is about asking for the text."""
    kept: dict[str, bool] = {}
    for raw in lines:
        line = _TRACE.sub("", raw)
        for noise in (_PROCESS, _TIME, _PLACE, _SOURCE):
            line = noise.sub("", line)
        line = " ".join(line.split()).strip()
        if not line or line in kept:
            continue
        kept[line] = _ASKING.search(raw) is not None
    first = True
    block = []
    for line, asking in kept.items():
        block.append((line if first else f"  {line}", asking))
        first = False
    return block


def _without_asking(block: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Drop an error that is about asking for the text, or its lines in another error's trace."""
    return [] if block[0][1] else [(line, asking) for line, asking in block if not asking]


def _bounded(blocks: list[str], limit: int) -> str:
    dropped = False
    while len(blocks) > 1 and sum(map(len, blocks)) + len(blocks) + 4 > limit:
        del blocks[0]
        dropped = True
    text = "\n".join(["...", *blocks] if dropped else blocks)
    return text if len(text) <= limit else f"{text[: limit - 4].rstrip()}\n..."
