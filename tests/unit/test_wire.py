from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer.wire import WireError, fields, read_varint, signed, varints


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@given(st.integers(0, 2**64 - 1))
def test_a_number_reads_back(value: int) -> None:
    raw = varint(value)
    assert read_varint(raw, 0, len(raw)) == (value, len(raw))


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_undoes_the_wires_twos_complement(value: int) -> None:
    assert signed(value & (2**64 - 1)) == value


@given(st.lists(st.integers(0, 2**40), max_size=20))
def test_packed_and_unpacked_numbers_are_the_same(values: list[int]) -> None:
    body = b"".join(map(varint, values))
    packed = b"\x0a" + varint(len(body)) + body
    unpacked = b"".join(b"\x08" + varint(value) for value in values)
    assert [v for f in fields(packed) for v in varints(packed, f)] == values
    assert [v for f in fields(unpacked) for v in varints(unpacked, f)] == values


def test_all_wire_types_are_walked() -> None:
    data = b"\x08\x05" + b"\x11" + bytes(range(8)) + b"\x1a\x02hi" + b"\x25" + bytes(4)
    assert [(f.number, f.wire_type) for f in fields(data)] == [(1, 0), (2, 1), (3, 2), (4, 5)]
    third = list(fields(data))[2]
    assert data[third.start : third.end] == b"hi"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x0a\x05ab", "5 bytes where 2 are left"),
        (b"\x08\xff", "ends inside a number"),
        (b"\x08" + b"\xff" * 11, "more than ten bytes"),
        (b"\x00", "field number 0"),
        (b"\x0b", "wire type 3"),
        (b"\x09abc", "ends inside a number"),
    ],
)
def test_damage_is_named_with_its_place(data: bytes, reason: str) -> None:
    with pytest.raises(WireError, match=reason) as caught:
        list(fields(data))
    assert 0 <= caught.value.offset <= len(data)


@given(st.binary(max_size=200))
def test_any_bytes_end_in_fields_or_one_error(data: bytes) -> None:
    try:
        found = list(fields(data))
    except WireError:
        return
    assert all(0 <= f.start <= f.end <= len(data) for f in found)
