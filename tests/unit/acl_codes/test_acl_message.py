"""The runtime's text without its noise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.acl_codes import clean_message, exception_for

COMPILE = """E20001: [PID: 200452] 2025-06-16-13:02:36.801.136 Failed to compile Op [/Slice_5]. (optype: [Slice])
        Possible Cause: The operator has an invalid argument.
        Solution: For a custom operator, check the operator implementation.
        TraceBack (most recent call last):
        build graph failed, graph id:0, ret:-1[FUNC:BuildModelWithGraphId][FILE:ge_generator.cc][LINE:1608]
        build graph failed, graph id:0, ret:-1[FUNC:BuildModel][FILE:ge_generator.cc][LINE:1611]
"""
ASKING = """EE1001: The argument is invalid.Reason: rtGetDevMsg execute failed, reason=[context pointer null]
        Solution: 1.Check the input parameter range of the function.
        TraceBack (most recent call last):
        ctx is NULL![FUNC:GetDevErrMsg][FILE:api_impl.cc][LINE:4541]
"""
DEVICE = """EE1001: The argument is invalid.Reason: rtSetDevice execute failed, reason=[device id error]
        Solution: 1.Check the input parameter range of the function.
"""


def test_causes_and_solutions_stay_and_places_go() -> None:
    assert clean_message(COMPILE).splitlines() == [
        "E20001: Failed to compile Op [/Slice_5]. (optype: [Slice])",
        "  Possible Cause: The operator has an invalid argument.",
        "  Solution: For a custom operator, check the operator implementation.",
        "  build graph failed, graph id:0, ret:-1",
    ]


def test_what_asking_for_the_text_adds_is_dropped() -> None:
    kept = clean_message(DEVICE + ASKING, code=107001)
    assert "device id error" in kept
    assert "Solution" in kept
    assert "rtGetDevMsg" not in kept
    assert "ctx is NULL" not in kept
    assert clean_message(ASKING, code=207001) == ""


def test_with_no_context_it_is_the_error_itself() -> None:
    assert "context pointer null" in clean_message(ASKING, code=107002)
    assert "context pointer null" in str(exception_for(107002, "aclrtMalloc", detail=ASKING))


def test_errors_told_again_are_told_once() -> None:
    once = clean_message(DEVICE)
    assert clean_message(DEVICE * 5) == once
    assert clean_message(DEVICE + COMPILE + DEVICE).splitlines()[-2:] == once.splitlines()


def test_the_newest_errors_are_the_ones_that_stay() -> None:
    many = "".join(f"EE{number:04}: trouble number {number}\n" for number in range(1000, 2000))
    kept = clean_message(many)
    assert len(kept) <= 2000
    assert kept.startswith("...")
    assert kept.endswith("trouble number 1999")
    assert "number 1000\n" not in kept


def test_one_long_error_is_cut_at_its_end() -> None:
    kept = clean_message("EE9999: " + "x" * 5000, limit=100)
    assert kept.startswith("EE9999: xxx")
    assert kept.endswith("...")
    assert len(kept) <= 100


@pytest.mark.parametrize("empty", [None, "", b"", "  \n\t\n"])
def test_nothing_is_nothing(empty: str | bytes | None) -> None:
    assert clean_message(empty) == ""


def test_bytes_of_any_encoding() -> None:
    assert clean_message(b"EE1001: \xff\xe4 bad") == "EE1001: �� bad"
    assert clean_message("EE1001: 设备 bad".encode()) == "EE1001: 设备 bad"


def test_nothing_steers_a_terminal() -> None:
    assert clean_message("EE1001: \x1b[31mred\x00\r\nnext") == "EE1001: [31mred\n  next"


@given(
    st.text(alphabet=st.sampled_from("EE10: [PID:2]\n\tFUNC:x.cc12-:."), max_size=400), st.integers(80, 500)
)
def test_any_text_is_bounded_and_cleaning_is_final(text: str, limit: int) -> None:
    kept = clean_message(text, limit=limit)
    assert len(kept) <= limit
    lines = [line.strip() for line in kept.splitlines()]
    assert all(lines)
    assert len(lines) == len(set(lines)) or "..." in lines
