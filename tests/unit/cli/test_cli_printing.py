from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.cli.printing import columns, print_json, printable, shorten, size_text


@given(st.text())
def test_printable_text_stays_and_everything_else_is_escaped(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert "\n" not in shown
    if text.isprintable():
        assert shown == text
    assert printable(shown) == shown


@given(st.text(), st.integers(1, 40))
def test_shortened_text_keeps_its_beginning(text: str, limit: int) -> None:
    shown = shorten(text, limit)
    assert len(shown) <= limit
    assert printable(text).startswith(shown.rstrip("…")) or shown == "…"


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (18538155, "17.7 MiB"), (5 << 40, "5120.0 GiB")],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text


def test_columns_line_up_without_blanks_at_the_end() -> None:
    assert columns([("a", 1, ""), ("long", 22, "x"), ("b",)]) == ["  a     1", "  long  22  x", "  b"]
    assert columns([]) == []


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"values": [1.5, math.nan, math.inf, -math.inf], "pair": (1, 2)})
    text = capsys.readouterr().out
    assert json.loads(text) == {"values": [1.5, "NaN", "Infinity", "-Infinity"], "pair": [1, 2]}
