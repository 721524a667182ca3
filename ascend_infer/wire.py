"""Walking a protobuf message in place: the fields' numbers and where their bytes are, nothing copied.

ONNX and .om files hold gigabytes of weights inside messages of which a few hundred bytes say what the
model is. This walks over the rest without reading it, on anything with the buffer protocol (an mmap), and
needs no protobuf package. Wire format: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Buffer", "Field", "WireError", "fields", "read_varint", "signed", "varints"]

Buffer = memoryview | bytes

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """The bytes are not a protobuf message; ``offset`` is where that shows."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(f"{reason} at byte {offset}")
        self.reason = reason
        self.offset = offset


class Field(NamedTuple):
    """One field as it stands in the buffer.

    ``value`` is the integer of a varint or fixed field, and the length of a length-delimited one, whose bytes
    ``start`` and ``end`` bound in the buffer; for the others they bound the encoded number.
    """

    number: int
    wire_type: int
    value: int
    start: int
    end: int


def read_varint(data: Buffer, offset: int, end: int) -> tuple[int, int]:
    """Read one varint; returns its value and the offset after it. At most ten bytes, as the format says."""
    result = 0
    for shift in range(0, 70, 7):
        if offset >= end:
            raise WireError("the message ends inside a number", offset)
        byte = data[offset]
        offset += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, offset
    raise WireError("a number has more than ten bytes", offset)


def fields(data: Buffer, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """Walk the fields between two offsets, in the order in which they stand.

    Raises
    ------
    WireError
        When a length points past ``end``, a field number is 0 or a wire type is none that protobuf writes.
    """
    end = len(data) if end is None else end
    make = tuple.__new__  # what Field's own __new__ calls, without the call to it
    offset = start
    while offset < end:
        begin = offset
        key = data[offset]
        if key < 0x80:
            offset += 1
        else:
            key, offset = read_varint(data, offset, end)
        number, wire_type = key >> 3, key & 7
        if number == 0:
            raise WireError("field number 0", begin)
        if wire_type == BYTES:
            # Most lengths are one byte: this loop is what reading a model's description costs.
            if offset < end and data[offset] < 0x80:
                length = data[offset]
                offset += 1
            else:
                length, offset = read_varint(data, offset, end)
            if length > end - offset:
                raise WireError(
                    f"field {number} says it has {length} bytes where {end - offset} are left", begin
                )
            yield make(Field, (number, wire_type, length, offset, offset + length))
            offset += length
        elif wire_type == VARINT:
            begin = offset
            value, offset = read_varint(data, offset, end)
            yield make(Field, (number, wire_type, value, begin, offset))
        elif wire_type in (FIXED64, FIXED32):
            size = 8 if wire_type == FIXED64 else 4
            if size > end - offset:
                raise WireError("the message ends inside a number", offset)
            value = int.from_bytes(data[offset : offset + size], "little")
            yield make(Field, (number, wire_type, value, offset, offset + size))
            offset += size
        else:
            raise WireError(f"wire type {wire_type} of field {number} is none of protobuf's", begin)


def signed(value: int) -> int:
    """Turn a varint's value into an int64 (int32 and enums are sign-extended to 64 bits on the wire)."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def varints(data: Buffer, field: Field) -> list[int]:
    """Return the integers of a repeated varint field, packed or not, as int64."""
    if field.wire_type != BYTES:
        return [signed(field.value)]
    values = []
    offset = field.start
    while offset < field.end:
        value, offset = read_varint(data, offset, field.end)
        values.append(signed(value))
    return values
