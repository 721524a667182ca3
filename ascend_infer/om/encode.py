"""Writing protobuf messages: the few shapes that a ModelDef needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "attribute_map", "boolean_attr", "bytes_field", "float_attr", "integer_attr", "integer_lists_attr",
    "integers_attr", "named_attr", "text_attr", "texts_attr", "varint", "varint_field",
]  # fmt: skip


def varint(value: int) -> bytes:
    """Encode an integer; negative ones in ten bytes, as int64 is."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_field(number: int, value: int) -> bytes:
    """Encode a field that holds an integer."""
    return varint(number << 3) + varint(value)


def bytes_field(number: int, value: bytes | str) -> bytes:
    """Encode a field that holds bytes, text or a message."""
    raw = value.encode("utf-8") if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def attribute_map(number: int, attributes: Mapping[str, bytes]) -> bytes:
    """Encode a ``map<string, AttrDef>`` field from encoded values."""
    return b"".join(
        bytes_field(number, bytes_field(1, name) + bytes_field(2, value))
        for name, value in attributes.items()
    )


def text_attr(value: str) -> bytes:
    """AttrDef.s."""
    return bytes_field(2, value)


def integer_attr(value: int) -> bytes:
    """AttrDef.i."""
    return varint_field(3, value)


def float_attr(value: float) -> bytes:
    """AttrDef.f, single precision."""
    from struct import pack

    return varint(4 << 3 | 5) + pack("<f", value)


def boolean_attr(value: bool) -> bytes:
    """AttrDef.b."""
    return varint_field(5, value)


def integers_attr(values: Iterable[int]) -> bytes:
    """AttrDef.list of integers, packed."""
    packed = b"".join(map(varint, values))
    return bytes_field(1, bytes_field(3, packed) if packed else b"")


def texts_attr(values: Iterable[str]) -> bytes:
    """AttrDef.list of strings."""
    return bytes_field(1, b"".join(bytes_field(2, value) for value in values))


def integer_lists_attr(values: Sequence[Sequence[int]]) -> bytes:
    """AttrDef.list_list_int."""
    lists = (bytes_field(1, bytes_field(1, b"".join(map(varint, inner)))) for inner in values)
    return bytes_field(14, b"".join(lists))


def named_attr(name: str, attributes: Mapping[str, bytes]) -> bytes:
    """AttrDef.func, a NamedAttrs."""
    return bytes_field(10, bytes_field(1, name) + attribute_map(2, attributes))
