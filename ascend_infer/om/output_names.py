"""The names that ATC gives a model's outputs, made from the nodes of the ONNX model that it compiles."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ascend_infer.wire import BYTES, Field, WireError, fields

__all__ = ["full_names"]


def full_names(onnx: bytes, outputs: Sequence[str]) -> list[str]:
    """Return ACL's names of ONNX outputs, ``node:index:name``, as ATC makes them."""
    wanted = dict.fromkeys(outputs, ("", 0))
    with suppress(WireError):  # what is no ONNX model has no nodes; the simulator will say so
        for graph in fields(onnx):
            if graph.number == 7 and graph.wire_type == BYTES:
                for node in fields(onnx, graph.start, graph.end):
                    if node.number == 1 and node.wire_type == BYTES:
                        _note_producer(onnx, node, wanted)
    full = []
    for number, name in enumerate(outputs):
        producer, index = wanted[name]
        full.append(f"PartitionedCall_{producer.replace(':', '_') or f'output_{number}'}:{index}:{name}")
    return full


def _note_producer(onnx: bytes, node: Field, wanted: dict[str, tuple[str, int]]) -> None:
    name = kind = ""
    made = []
    for field in fields(onnx, node.start, node.end):
        if field.wire_type == BYTES and field.number in (2, 3, 4):
            text = onnx[field.start : field.end].decode("utf-8", "replace")
            if field.number == 2:
                made.append(text)
            elif field.number == 3:
                name = text
            else:
                kind = text
    for index, output in enumerate(made):
        if output in wanted:
            wanted[output] = (name or kind, index)
