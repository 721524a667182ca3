from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.doctor.visible_devices import parse_visible_devices


@pytest.mark.parametrize(
    ("value", "count", "used", "word"),
    [
        ("0", 1, (0,), None),
        ("0,2,7", 8, (0, 2, 7), None),
        ("1", None, (1,), None),
        ("", 2, (), "empty"),
        ("0,", 2, (0,), "empty"),
        ("0, 1", 2, (0,), "blanks"),
        ("1,0", 2, (1,), "ascend"),
        ("0,0", 2, (0,), "twice"),
        ("0,x", 2, (0,), "no number"),
        ("npu0", 2, (), "no number"),
        ("-1", 2, (), "no number"),
        ("2", 2, (), "too high"),
        ("0,5", 2, (0,), "too high"),
        ("99999999999999999999", 2, (), "no number"),
    ],
)
def test_the_list_is_cut_at_its_first_mistake(
    value: str, count: int | None, used: tuple[int, ...], word: str | None
) -> None:
    read = parse_visible_devices(value, count)
    assert read.used == used
    assert (read.mistake is None) if word is None else (word in (read.mistake or ""))


@given(st.sets(st.integers(0, 63), min_size=1))
def test_ascending_numbers_are_taken_as_they_are(cards: set[int]) -> None:
    ordered = sorted(cards)
    read = parse_visible_devices(",".join(map(str, ordered)), 64)
    assert read.used == tuple(ordered)
    assert read.mistake is None


@given(st.text(alphabet="0123456789, ;-x", max_size=20), st.integers(1, 8))
def test_what_is_used_always_ascends_and_exists(value: str, count: int) -> None:
    read = parse_visible_devices(value, count)
    assert list(read.used) == sorted(set(read.used))
    assert all(0 <= card < count for card in read.used)
    assert (read.mistake is None) == (len(read.used) == len(value.split(",")))
