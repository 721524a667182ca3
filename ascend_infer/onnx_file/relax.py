"""Making a model forget declared input and output shapes that are dummies.

Some exporters write the shape of their example into the file (a face detector that takes any picture declares
``[10, 3, 32, 32]``), and onnxruntime then refuses every other. Where a configuration says -1 for such a
dimension, the model is loaded from a copy in which all declared input and output dims are open.
"""

from __future__ import annotations

from collections.abc import Collection

from ascend_infer.onnx_file.reader import (
    GRAPH_INPUT,
    GRAPH_OUTPUT,
    VALUE_NAME,
    VALUE_TYPE,
    field_text,
    graph_field,
)
from ascend_infer.wire import BYTES, Buffer, Field, fields

__all__ = ["relax_declared_shapes"]


def relax_declared_shapes(data: Buffer, inputs: Collection[str]) -> bytes:
    """Copy a model with the named inputs', and every output's, declared dims open.

    Parameters
    ----------
    data : bytes or memoryview
        A whole .onnx file without external data.
    inputs : collection of str
        Inputs whose declared dims are dummies.

    Returns
    -------
    bytes
        The copy; everything else is byte for byte the same.

    Raises
    ------
    WireError
        ``data`` is not a protobuf message.
    """
    graph = graph_field(data)
    if graph is None:
        return bytes(data)
    parts: list[bytes] = []
    for field in fields(data, graph.start, graph.end):
        opened = field.wire_type == BYTES and (
            field.number == GRAPH_OUTPUT or (field.number == GRAPH_INPUT and _name(data, field) in inputs)
        )
        parts.append(_open_value(data, field) if opened else _as_it_stands(data, field))
    body = b"".join(parts)
    whole = [
        _delimited(field.number, body) if field == graph else _as_it_stands(data, field)
        for field in fields(data)
    ]
    return b"".join(whole)


def _name(data: Buffer, value: Field) -> str:
    for part in fields(data, value.start, value.end):
        if part.number == VALUE_NAME and part.wire_type == BYTES:
            return field_text(data, part)
    return ""


def _open_value(data: Buffer, value: Field) -> bytes:
    """Rewrite ValueInfo > TypeProto > Tensor > TensorShape > dim, each dim now without a size or name."""
    return _delimited(value.number, _descend(data, value, (VALUE_TYPE, 1, 2, 1)))


def _descend(data: Buffer, field: Field, path: tuple[int, ...]) -> bytes:
    if not path:
        return b""
    return b"".join(
        _delimited(part.number, _descend(data, part, path[1:]))
        if part.number == path[0] and part.wire_type == BYTES
        else _as_it_stands(data, part)
        for part in fields(data, field.start, field.end)
    )


def _as_it_stands(data: Buffer, field: Field) -> bytes:
    raw = bytes(data[field.start : field.end])
    if field.wire_type == BYTES:
        return _delimited(field.number, raw)
    return _varint(field.number << 3 | field.wire_type) + raw


def _delimited(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | BYTES) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
