"""Which values an input may have, as far as the graph shows it: the size of the table that it indexes.

Random token ids beyond the embedding table are an error at best. The operators are ONNX's
(github.com/onnx/onnx, docs/Operators.md) and onnxruntime's (docs/ContribOperators.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from ascend_infer.onnx_file.reader import (
    GRAPH_INITIALIZER,
    GRAPH_INPUT,
    GRAPH_NODE,
    TENSOR_NAME,
    VALUE_NAME,
    field_text,
    graph_field,
    open_onnx,
)
from ascend_infer.wire import BYTES, VARINT, Buffer, Field, fields, signed, varints

__all__ = ["ValueLimit", "input_limits"]

NODE_INPUT, NODE_OUTPUT, NODE_OP, NODE_ATTRIBUTE = 1, 2, 4, 5
ATTRIBUTE_NAME, ATTRIBUTE_INT, ATTRIBUTE_TENSOR = 1, 3, 5
TENSOR_DIMS = 1
ONNX_BOOL = 9

#: Operators behind which the first input's values are still the same values, if perhaps fewer or of another type.
_SAME_VALUES = frozenset(
    {"Cast", "Expand", "Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Tile", "Transpose", "Unsqueeze"}
)
#: Operators behind which a table has the same shape.
_SAME_TABLE = frozenset({"Cast", "DequantizeLinear", "Identity", "QuantizeLinear"})
#: Operators that a quantized table is scaled with, by another table of its own.
_TABLE_ARITHMETIC = frozenset({"Add", "Div", "Mul", "Sub"})
#: onnxruntime's fused embedding: which of its inputs indexes which table.
_FUSED_EMBEDDING = {0: 2, 1: 4}


@dataclass(frozen=True, slots=True)
class ValueLimit:
    """The whole numbers from 0 that an input may have.

    Attributes
    ----------
    size : int
        How many: values are 0 to ``size - 1``.
    reason : str
        What in the graph says so.
    mask : bool
        The input is only ever asked whether it is zero.
    """

    size: int
    reason: str
    mask: bool = False


def input_limits(path: str | os.PathLike[str]) -> dict[str, ValueLimit]:
    """Return the limits that a model's main graph shows, by input name; inputs that it shows none for are left out.

    Raises
    ------
    ModelFileError
        The file cannot be read or is no ONNX model.
    """
    with open_onnx(path) as data:
        graph = graph_field(data)
        return {} if graph is None else _limits(data, graph)


@dataclass(slots=True)
class _Node:
    op: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    constant: tuple[int, ...] | None = None


def _limits(data: Buffer, graph: Field) -> dict[str, ValueLimit]:
    tables: dict[str, tuple[int, ...]] = {}
    #: Value's name to the input whose values it holds.
    origin: dict[str, str] = {}
    for part in fields(data, graph.start, graph.end):
        if part.wire_type != BYTES:
            continue
        if part.number == GRAPH_INITIALIZER:
            name, dims = _tensor(data, part)
            tables[name] = dims
        elif part.number == GRAPH_INPUT:
            name = _text(data, part, VALUE_NAME)
            origin[name] = name
    for name in tables:
        origin.pop(name, None)  # a weight that is listed among the inputs
    found: dict[str, ValueLimit] = {}
    asked: set[str] = set()
    used: set[str] = set()
    for node in _nodes(data, graph):
        if node.constant is not None:
            tables.update(dict.fromkeys(node.outputs, node.constant))
        first = node.inputs[0] if node.inputs else ""
        if node.op in _SAME_TABLE and first in tables:
            tables.update(dict.fromkeys(node.outputs[:1], tables[first]))
        elif node.op in _TABLE_ARITHMETIC and all(name in tables for name in node.inputs):
            tables.update(dict.fromkeys(node.outputs[:1], _broadcast(*(tables[n] for n in node.inputs))))
        for source, size, reason in _indexed(node, tables, origin):
            if source not in found or size < found[source].size:
                found[source] = ValueLimit(size, reason)
        to_bool = node.op == "Cast" and node.numbers.get("to") == ONNX_BOOL
        for name in node.inputs:
            if name in origin and name != first:
                used.add(origin[name])
        if first in origin:
            if to_bool:
                asked.add(origin[first])
            elif node.op in _SAME_VALUES:
                origin.update(dict.fromkeys(node.outputs[:1], origin[first]))
            elif node.op != "Shape":
                used.add(origin[first])
    for source in asked - used - set(found):
        found[source] = ValueLimit(2, "it is only cast to bool", mask=True)
    return found


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of two tables put together element by element, by ONNX's rules, which are numpy's."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(max(dims) if 0 not in dims else 0 for dims in zip(*padded, strict=True))


def _indexed(
    node: _Node, tables: dict[str, tuple[int, ...]], origin: dict[str, str]
) -> Iterator[tuple[str, int, str]]:
    """Yield each input that a node uses as an index, the size of what it indexes, and a sentence about it."""
    if node.op == "Gather" and len(node.inputs) == 2:
        pairs, axis = [(0, 1)], node.numbers.get("axis", 0)
    elif node.op == "EmbedLayerNormalization":
        pairs, axis = [(table, index) for index, table in _FUSED_EMBEDDING.items()], 0
    else:
        return
    for table, index in pairs:
        if max(table, index) >= len(node.inputs):
            continue
        dims = tables.get(node.inputs[table])
        source = origin.get(node.inputs[index])
        if source is not None and dims and -len(dims) <= axis < len(dims) and dims[axis] > 0:
            yield source, dims[axis], f"it indexes {node.inputs[table]!r}, which has {dims[axis]} entries"


def _nodes(data: Buffer, graph: Field) -> Iterator[_Node]:
    for part in fields(data, graph.start, graph.end):
        if part.number != GRAPH_NODE or part.wire_type != BYTES:
            continue
        node = _Node()
        for piece in fields(data, part.start, part.end):
            if piece.wire_type != BYTES:
                continue
            if piece.number == NODE_INPUT:
                node.inputs.append(field_text(data, piece))
            elif piece.number == NODE_OUTPUT:
                node.outputs.append(field_text(data, piece))
            elif piece.number == NODE_OP:
                node.op = field_text(data, piece)
            elif piece.number == NODE_ATTRIBUTE:
                _attribute(data, piece, node)
        yield node


def _attribute(data: Buffer, attribute: Field, node: _Node) -> None:
    name = _text(data, attribute, ATTRIBUTE_NAME)
    for piece in fields(data, attribute.start, attribute.end):
        if piece.number == ATTRIBUTE_INT and piece.wire_type == VARINT:
            node.numbers[name] = signed(piece.value)
        elif piece.number == ATTRIBUTE_TENSOR and piece.wire_type == BYTES and name == "value":
            node.constant = _tensor(data, piece)[1]


def _tensor(data: Buffer, tensor: Field) -> tuple[str, tuple[int, ...]]:
    """Return a tensor's name and dims; its numbers are stepped over."""
    name, dims = "", []
    for piece in fields(data, tensor.start, tensor.end):
        if piece.number == TENSOR_DIMS:
            dims += varints(data, piece)
        elif piece.number == TENSOR_NAME and piece.wire_type == BYTES:
            name = field_text(data, piece)
    return name, tuple(dims)


def _text(data: Buffer, message: Field, number: int) -> str:
    for piece in fields(data, message.start, message.end):
        if piece.number == number and piece.wire_type == BYTES:
            return field_text(data, piece)
    return ""
