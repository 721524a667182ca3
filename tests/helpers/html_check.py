"""Whether a piece of HTML is well formed, and can be read on a light page and on a dark one."""

from __future__ import annotations

import re
from html.parser import HTMLParser

__all__ = ["Page", "checked"]

#: What the pages of ours use. An element that is not here is a spelling mistake, or goes in with a thought.
_ELEMENTS = {
    *("b", "br", "code", "details", "div", "em", "li", "p", "pre", "small", "span", "summary", "ul"),
    *("table", "tbody", "td", "th", "thead", "tr"),
}

_EMPTY = {"br"}

#: Elements that may only stand in some others.
_PARENTS = {
    "tr": {"table", "thead", "tbody"},
    "td": {"tr"},
    "th": {"tr"},
    "thead": {"table"},
    "tbody": {"table"},
    "li": {"ul"},
    "summary": {"details"},
}

#: A paragraph ends where one of these begins, whatever was meant.
_BLOCKS = {"details", "div", "p", "pre", "table", "ul"}

#: With these a text's colour is the page's own, whichever that is.
_STYLES = {"text-align", "font-family", "font-weight", "margin", "padding", "vertical-align", "white-space"}


class Page(HTMLParser):
    """Reads a page and asserts on the way; ``text`` is what a person reads."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _ELEMENTS, f"<{tag}>"
        parent = self.open[-1] if self.open else "page"
        assert parent in _PARENTS.get(tag, {parent}), f"<{tag}> in <{parent}>"
        assert not (tag in _BLOCKS and "p" in self.open), f"<{tag}> inside a paragraph"
        if parent in ("table", "thead", "tbody", "tr"):
            assert tag in _PARENTS, f"<{tag}> in <{parent}>"
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), names
        for name, value in attrs:
            assert name in ("style", "title", "colspan", "open"), f"attribute {name}"
            if name == "style":
                used = {part.partition(":")[0].strip() for part in (value or "").split(";") if part.strip()}
                assert used <= _STYLES, f"style {value}: fixes how it looks on a page of another colour"
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        assert self.open.pop() == tag, f"</{tag}>"

    def handle_data(self, data: str) -> None:
        assert "<" not in data, f"a bare < in {data!r}"
        assert not re.search(r"&(?!#)", data), f"a bare & in {data!r}"
        inside = self.open[-1] if self.open else "page"
        assert not (data.strip() and inside in ("table", "thead", "tbody", "tr")), f"{data!r} in <{inside}>"
        self.text += data

    def handle_entityref(self, name: str) -> None:
        assert name in ("amp", "lt", "gt", "quot", "nbsp"), name
        self.text += {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "nbsp": " "}[name]

    def handle_charref(self, name: str) -> None:
        self.text += chr(int(name[1:], 16) if name.startswith("x") else int(name))


def checked(html: str) -> str:
    """Assert on a piece of HTML and return its text."""
    page = Page()
    page.feed(html)
    page.close()
    assert page.open == [], page.open
    return page.text
