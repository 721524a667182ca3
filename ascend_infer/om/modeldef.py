"""The ModelDef of an .om file: a walk over graphs and operators that decodes only what is asked for.

Field numbers are those of GE's ge_ir.proto; they have not changed since 2020.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ascend_infer.om.attributes import Attributes, AttributeTables
from ascend_infer.om.damage import DamagedError
from ascend_infer.wire import BYTES, VARINT, Field, fields, signed, varints

__all__ = ["Graph", "ModelDef", "Op", "OpHead", "Tensor", "parse_modeldef"]

#: The largest models have some tens of thousands of operators.
_MAX_ITEMS = 500_000


@dataclass(frozen=True, slots=True)
class Tensor:
    """A TensorDescriptor."""

    name: str
    dtype: int
    shape: tuple[int, ...]
    layout: str
    size: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class OpHead:
    """An operator's name and type, and where the rest of it is."""

    name: str
    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Op:
    """An operator decoded as far as inputs and outputs of a model need it."""

    name: str
    type: str
    attributes: Attributes
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    source_names: tuple[str, ...]
    source_indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph's name and its operators' heads, in the file's order."""

    name: str
    ops: tuple[OpHead, ...]


class ModelDef:
    """A parsed ModelDef.

    Attributes
    ----------
    name, custom_version : str
    graphs : tuple of Graph
        The first is the root.
    attributes : Attributes
        The model's own; they are never coded.
    tables : AttributeTables
        For the attributes of operators and tensors.
    """

    def __init__(
        self,
        data: bytes,
        name: str,
        custom_version: str,
        graphs: tuple[Graph, ...],
        attributes: Attributes,
        tables: AttributeTables,
    ) -> None:
        self._data = data
        self.name = name
        self.custom_version = custom_version
        self.graphs = graphs
        self.attributes = attributes
        self.tables = tables

    @property
    def op_counts(self) -> dict[str, int]:
        """Operators by type over all graphs, the most frequent first."""
        counts = Counter(op.type for graph in self.graphs for op in graph.ops)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def op(self, head: OpHead) -> Op:
        """Decode one operator."""
        data = self._data
        entries: list[Field] = []
        inputs: list[Tensor] = []
        outputs: list[Tensor] = []
        names: list[str] = []
        indices: list[int] = []
        for number, field in enumerate(fields(data, head.start, head.end)):
            if number > _MAX_ITEMS:
                raise DamagedError(f"an operator holds more than {_MAX_ITEMS:,} fields", field.start)
            if field.number == 25 and field.wire_type in (VARINT, BYTES):
                indices += varints(data, field)
            elif field.wire_type != BYTES:
                continue
            elif field.number == 10:
                entries.append(field)
            elif field.number == 24:
                names.append(_text(data, field))
            elif field.number == 33:
                inputs.append(self._tensor(field))
            elif field.number == 34:
                outputs.append(self._tensor(field))
        return Op(
            head.name, head.type, Attributes(data, entries, self.tables),
            tuple(inputs), tuple(outputs), tuple(names), tuple(indices),
        )  # fmt: skip

    def _tensor(self, span: Field) -> Tensor:
        data = self._data
        name, layout, dtype, size = "", "", 0, 0
        shape: list[int] = []
        entries: list[Field] = []
        for field in fields(data, span.start, span.end):
            number = field.number
            if field.wire_type == VARINT:
                if number == 2:
                    dtype = field.value
                elif number == 10:
                    size = signed(field.value)
            elif field.wire_type == BYTES:
                if number == 1:
                    name = _text(data, field)
                elif number == 3:
                    for inner in fields(data, field.start, field.end):
                        if inner.number == 1 and inner.wire_type in (VARINT, BYTES):
                            shape += varints(data, inner)
                elif number == 4:
                    layout = _text(data, field)
                elif number == 5:
                    entries.append(field)
        return Tensor(name, dtype, tuple(shape), layout, size, Attributes(data, entries, self.tables))


def _text(data: bytes, field: Field) -> str:
    return data[field.start : field.end].decode("utf-8", "backslashreplace")


def parse_modeldef(data: bytes, outer: AttributeTables | None = None) -> ModelDef:
    """Walk over a ModelDef.

    Parameters
    ----------
    data : bytes
    outer : AttributeTables or None
        The root model's tables, for a later model of the same file.

    Raises
    ------
    WireError
        When the bytes are no protobuf message.
    DamagedError
        When it holds more than any model.
    """
    name = custom_version = ""
    graphs = []
    entries = []
    left = _MAX_ITEMS
    for field in fields(data):
        if left < 0:
            raise DamagedError(
                f"a MODEL_DEF holds more than {_MAX_ITEMS:,} operators and attributes", field.start
            )
        left -= 1
        if field.wire_type != BYTES:
            continue
        if field.number == 1:
            name = _text(data, field)
        elif field.number == 3:
            custom_version = _text(data, field)
        elif field.number == 7:
            graphs.append(_graph(data, field, left))
            left -= len(graphs[-1].ops)
        elif field.number == 11:
            entries.append(field)
    attributes = Attributes(data, entries, AttributeTables())
    return ModelDef(data, name, custom_version, tuple(graphs), attributes, _tables(attributes, outer))


def _tables(attributes: Attributes, outer: AttributeTables | None) -> AttributeTables:
    return AttributeTables(
        attributes.raw_texts("attr_name_enum"),
        attributes.texts("attr_value_enum"),
        attributes.booleans("attrs_use_string_value"),
        outer,
    )


def _graph(data: bytes, span: Field, most: int) -> Graph:
    name = ""
    ops = []
    for number, field in enumerate(fields(data, span.start, span.end)):
        if number > most:
            raise DamagedError(
                f"a MODEL_DEF holds more than {_MAX_ITEMS:,} operators and attributes", field.start
            )
        if field.wire_type == BYTES:
            if field.number == 6:
                ops.append(_head(data, field))
            elif field.number == 1:
                name = _text(data, field)
    return Graph(name, tuple(ops))


def _head(data: bytes, span: Field) -> OpHead:
    """Read an operator up to its type: name and type are its first fields as every writer orders them."""
    name = kind = ""
    for field in fields(data, span.start, span.end):
        if field.wire_type == BYTES:
            if field.number == 1:
                name = _text(data, field)
            elif field.number == 2:
                kind = _text(data, field)
                if name:
                    break
    return OpHead(name, kind, span.start, span.end)
