"""Attributes of a ModelDef, its operators and tensors: found by name, decoded on demand.

ATC of CANN 7 and later replaces attribute names by codes and string values by indices into tables that the
ModelDef carries (``om_compress_version``). That is undone here, when a name is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from struct import unpack_from

from ascend_infer.wire import BYTES, FIXED32, VARINT, Field, fields, signed, varints

__all__ = ["AttributeTables", "Attributes"]

# Fields of AttrDef and of its ListValue share these numbers.
_LIST, _S, _I, _F, _B, _BT, _FUNC = 1, 2, 3, 4, 5, 7, 10
_LIST_LIST_INT = 14
_MAX_CODE_LENGTH = 8


@dataclass(frozen=True)
class AttributeTables:
    """The tables by which a model's attribute names and string values are coded.

    Attributes
    ----------
    names : tuple of bytes
    values : tuple of str
    takes_string : tuple of bool
        By name: its integers are indices into ``values``.
    outer : AttributeTables or None
        The root model's. Nodes shared by several models of one file were coded twice: names found here can
        be codes of the root model's tables again.
    """

    names: tuple[bytes, ...] = ()
    values: tuple[str, ...] = ()
    takes_string: tuple[bool, ...] = ()
    outer: AttributeTables | None = None

    def resolve(self, key: bytes) -> tuple[str, tuple[str, ...] | None]:
        """Return an attribute's name, and the table of its string values if it has one.

        A code that no table knows is returned escaped, so that it stays visible and matches nothing.
        """
        tables: AttributeTables | None = self
        values = None
        while tables is not None and key[:1] == b"\0":
            if tables.names:
                index = _code(key)
                if not 0 <= index < len(tables.names):
                    break
                key = tables.names[index]
                if values is None and index < len(tables.takes_string) and tables.takes_string[index]:
                    values = tables.values
            tables = tables.outer
        return key.decode("utf-8", "backslashreplace").replace("\0", "\\0"), values


def _code(key: bytes) -> int:
    """Decode a coded name: digits to the base 127, the lowest first, each plus one."""
    if len(key) > _MAX_CODE_LENGTH:
        return -1
    return sum((digit - 1) * 127**place for place, digit in enumerate(key[1:]))


class Attributes:
    """A ``map<string, AttrDef>`` in a buffer.

    Every getter returns its default when there is no attribute of this name or it holds another kind of
    value; bytes that are no protobuf message raise ``WireError``.

    Parameters
    ----------
    data : bytes
    entries : list of Field
        The map's entries as they stand in the message.
    tables : AttributeTables
    """

    def __init__(self, data: bytes, entries: list[Field], tables: AttributeTables) -> None:
        self._data = data
        self._entries = entries
        self._tables = tables

    @cached_property
    def _values(self) -> dict[str, tuple[int, int, tuple[str, ...] | None]]:
        found = {}
        for entry in self._entries:
            key, start, end = b"", entry.end, entry.end
            for field in fields(self._data, entry.start, entry.end):
                if field.wire_type == BYTES and field.number == 1:
                    key = self._data[field.start : field.end]
                elif field.wire_type == BYTES and field.number == 2:
                    start, end = field.start, field.end
            name, values = self._tables.resolve(key)
            found[name] = (start, end, values)
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def _fields(self, name: str, number: int) -> Iterator[Field]:
        place = self._values.get(name)
        if place is not None:
            for field in fields(self._data, place[0], place[1]):
                if field.number == number:
                    yield field

    def _list_fields(self, name: str, number: int) -> Iterator[Field]:
        for outer in self._fields(name, _LIST):
            if outer.wire_type == BYTES:
                for field in fields(self._data, outer.start, outer.end):
                    if field.number == number:
                        yield field

    def _text(self, field: Field) -> str:
        return self._data[field.start : field.end].decode("utf-8", "backslashreplace")

    def _table(self, name: str) -> tuple[str, ...] | None:
        place = self._values.get(name)
        return None if place is None else place[2]

    def integer(self, name: str, default: int | None = None) -> int | None:
        """Return an integer."""
        for field in self._fields(name, _I):
            if field.wire_type == VARINT:
                default = signed(field.value)
        return default

    def boolean(self, name: str) -> bool | None:
        """Return a truth value; None when there is none."""
        value = None
        for field in self._fields(name, _B):
            if field.wire_type == VARINT:
                value = field.value != 0
        return value

    def number(self, name: str) -> float | None:
        """Return a float, or an integer as one; None when there is neither."""
        for field in self._fields(name, _F):
            if field.wire_type == FIXED32:
                return float(unpack_from("<f", self._data, field.start)[0])
        value = self.integer(name)
        return None if value is None else float(value)

    def scalar(self, name: str) -> str | int | float | bool | None:
        """Return whatever single value there is; None for lists and nested ones."""
        place = self._values.get(name)
        if place is not None:
            for field in fields(self._data, place[0], place[1]):
                if field.number == _S and field.wire_type == BYTES:
                    return self._text(field)
                if field.number == _I and field.wire_type == VARINT:
                    return signed(field.value)
                if field.number == _B and field.wire_type == VARINT:
                    return field.value != 0
                if field.number == _F and field.wire_type == FIXED32:
                    return float(unpack_from("<f", self._data, field.start)[0])
        return None

    def text(self, name: str) -> str | None:
        """Return a string, also one that is stored as an index; None when there is none."""
        for field in self._fields(name, _S):
            if field.wire_type == BYTES:
                return self._text(field)
        table, index = self._table(name), self.integer(name)
        if table is not None and index is not None and 0 <= index < len(table):
            return table[index]
        return None

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return a list of integers; None when there is none, ``()`` for an empty list."""
        if name not in self._values:
            return None
        found: list[int] = []
        for field in self._list_fields(name, _I):
            if field.wire_type in (VARINT, BYTES):
                found += varints(self._data, field)
        return tuple(found)

    def booleans(self, name: str) -> tuple[bool, ...]:
        """Return a list of truth values, empty when there is none."""
        found: list[bool] = []
        for field in self._list_fields(name, _B):
            if field.wire_type in (VARINT, BYTES):
                found += [value != 0 for value in varints(self._data, field)]
        return tuple(found)

    def raw_texts(self, name: str) -> tuple[bytes, ...]:
        """Return a list of byte strings, empty when there is none."""
        return tuple(
            self._data[field.start : field.end]
            for field in self._list_fields(name, _S)
            if field.wire_type == BYTES
        )

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, also one that is stored as indices; empty when there is none."""
        found = tuple(raw.decode("utf-8", "backslashreplace") for raw in self.raw_texts(name))
        table = self._table(name)
        if not found and table is not None:
            return tuple(table[index] for index in self.integers(name) or () if 0 <= index < len(table))
        return found

    def floats(self, name: str) -> tuple[float, ...]:
        """Return a list of floats, packed or not; empty when there is none."""
        found: list[float] = []
        for field in self._list_fields(name, _F):
            if field.wire_type in (FIXED32, BYTES):
                count = (field.end - field.start) // 4
                found += unpack_from(f"<{count}f", self._data, field.start)
        return tuple(found)

    def integer_lists(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Return a list of lists of integers, empty when there is none."""
        found = []
        for outer in self._fields(name, _LIST_LIST_INT):
            if outer.wire_type != BYTES:
                continue
            for middle in fields(self._data, outer.start, outer.end):
                if middle.number == 1 and middle.wire_type == BYTES:
                    inner: list[int] = []
                    for field in fields(self._data, middle.start, middle.end):
                        if field.number == 1 and field.wire_type in (VARINT, BYTES):
                            inner += varints(self._data, field)
                    found.append(tuple(inner))
        return tuple(found)

    def nested(self, name: str) -> Attributes | None:
        """Return the attributes of a ``NamedAttrs`` value; None when there is none."""
        for outer in self._fields(name, _FUNC):
            if outer.wire_type == BYTES:
                entries = [
                    field
                    for field in fields(self._data, outer.start, outer.end)
                    if field.number == 2 and field.wire_type == BYTES
                ]
                return Attributes(self._data, entries, self._tables)
        return None
