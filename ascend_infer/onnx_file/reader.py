"""Signature and facts of a .onnx file by walking its protobuf in place.

Field numbers are onnx.proto's (github.com/onnx/onnx, onnx/onnx.proto); messages this does not name are
stepped over, so that a file of gigabytes costs a few pages.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ascend_infer.errors import ModelFileError
from ascend_infer.regular_file import NotRegularFileError, open_regular
from ascend_infer.types import DataType, ModelSpec, TensorSpec
from ascend_infer.wire import BYTES, VARINT, Buffer, Field, WireError, fields, signed

__all__ = ["OnnxFile", "field_text", "graph_field", "open_onnx", "read"]

MODEL_IR_VERSION, MODEL_PRODUCER, MODEL_PRODUCER_VERSION, MODEL_DOMAIN, MODEL_VERSION = 1, 2, 3, 4, 5
MODEL_GRAPH, MODEL_OPSET, MODEL_METADATA = 7, 8, 14
GRAPH_NODE, GRAPH_NAME, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT = 1, 2, 5, 11, 12
TENSOR_NAME, TENSOR_EXTERNAL_DATA = 8, 13
VALUE_NAME, VALUE_TYPE = 1, 2
#: TypeProto's oneof: what a value is when it is no tensor.
TYPE_KINDS = {1: "tensor", 4: "sequence", 5: "map", 7: "opaque", 8: "sparse tensor", 9: "optional"}

#: What stands at the beginning of files that are named .onnx and are something else.
_FOREIGN = (
    (
        b"version https://git-lfs.",
        "it is a Git LFS pointer, not the model: run `git lfs pull` to get the file",
    ),
    (b"IMOD", "it is an Ascend .om model: name it model.om"),
    (b"PK\x03\x04", "it is a ZIP archive (a PyTorch or Keras file, or an unpacked download)"),
    (b"\x1f\x8b", "it is gzip-compressed: unpack it first"),
    (b"\x89HDF", "it is an HDF5 (Keras) file: convert it to ONNX first"),
    (b"<", "it is a web page or XML: the download went wrong, or it is an OpenVINO model"),
    (b"{", "it is JSON text"),
    (b"\x80", "it is a Python pickle (a PyTorch file): convert it to ONNX first"),
)


@dataclass(frozen=True, slots=True)
class OnnxFile:
    """A .onnx file's own description.

    Attributes
    ----------
    spec : ModelSpec
        Inputs without the weights that old exporters list among them.
    ir_version : int
    opsets : mapping of str to int
        Operator set versions by domain; ``""`` is ONNX's own.
    nodes, initializers : int
        How many operators and weights the graph holds (subgraphs not counted).
    size : int
        Bytes of the file itself.
    external_data : tuple of str
        Files beside the model that hold weights, relative to its folder.
    other_inputs : mapping of str to str
        Inputs that are no tensors, with their kind (``"sequence"``, ``"map"``); outputs are in ``spec``.
    defaults : tuple of TensorSpec
        Inputs for which the file holds a value of its own. Exporters listed all weights so before IR version 4;
        from then on they may be given in a request.
    """

    spec: ModelSpec
    ir_version: int
    opsets: dict[str, int]
    nodes: int
    initializers: int
    size: int
    external_data: tuple[str, ...]
    other_inputs: dict[str, str]
    defaults: tuple[TensorSpec, ...] = ()

    @property
    def weights_as_inputs(self) -> int:
        """How many weights the file lists among its inputs too."""
        return len(self.defaults)


@contextmanager
def open_onnx(path: str | os.PathLike[str]) -> Iterator[Buffer]:
    """Map a file for reading; the mapping is gone afterwards.

    Raises
    ------
    ModelFileError
        Missing, unreadable, a directory, empty, or evidently no ONNX file.
    """
    shown = os.fspath(path)
    try:
        descriptor, status = open_regular(path)
    except OSError as error:
        raise _refuse(shown, _why_not(shown, error), None) from error
    except ValueError as error:  # a zero character in the path
        raise _refuse(shown, f"it is no path: {error}", None) from error
    try:
        if status.st_size == 0:
            raise _refuse(shown, "the file is empty", 0)
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            head = bytes(view[:32])
            for magic, what in _FOREIGN:
                if head.startswith(magic):
                    raise _refuse(shown, what, 0)
            try:
                yield view
            except WireError as error:
                raise _refuse(
                    shown,
                    f"the file is damaged, cut short or no ONNX model: {error.reason}",
                    error.offset,
                ) from error
    except OSError as error:
        raise _refuse(shown, f"it cannot be read: {error.strerror}", None) from error
    finally:
        os.close(descriptor)


def _why_not(path: str, error: OSError) -> str:
    if isinstance(error, NotRegularFileError):
        return f"it is {error.kind}, not a .onnx file"
    if error.errno == errno.ENOENT and os.path.islink(path):
        return f"it is a link to {os.readlink(path)}, which is not there"
    return f"it cannot be read: {error.strerror}"


def read(path: str | os.PathLike[str]) -> OnnxFile:
    """Describe a .onnx file.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    OnnxFile

    Raises
    ------
    ModelFileError
        The file is missing, unreadable, empty, truncated, of another kind, or has no graph; ``offset`` and
        ``reason`` say where and why.
    """
    with open_onnx(path) as data:
        return _describe(data, os.fspath(path))


def _refuse(path: str, reason: str, offset: int | None) -> ModelFileError:
    place = "" if offset is None else f" (byte {offset})"
    return ModelFileError(f"{path}: {reason}{place}", path=path, reason=reason, offset=offset)


def field_text(data: Buffer, field: Field) -> str:
    """Decode a string field; what is not UTF-8 shows as a replacement character."""
    return bytes(data[field.start : field.end]).decode("utf-8", "replace")


def graph_field(data: Buffer) -> Field | None:
    """Return the model's graph (the last one wins, as protobuf merges), None when there is none."""
    found = None
    for field in fields(data):
        if field.number == MODEL_GRAPH and field.wire_type == BYTES:
            found = field
    return found


def _describe(data: Buffer, path: str) -> OnnxFile:
    ir_version = 0
    opsets: dict[str, int] = {}
    metadata: dict[str, str] = {}
    graph: Field | None = None
    for field in fields(data):
        if field.number == MODEL_IR_VERSION and field.wire_type == VARINT:
            ir_version = field.value
        elif field.wire_type != BYTES:
            if field.number == MODEL_VERSION:
                metadata["model_version"] = str(signed(field.value))
        elif field.number == MODEL_PRODUCER:
            metadata["producer"] = field_text(data, field)
        elif field.number == MODEL_PRODUCER_VERSION:
            metadata["producer_version"] = field_text(data, field)
        elif field.number == MODEL_DOMAIN:
            metadata["domain"] = field_text(data, field)
        elif field.number == MODEL_GRAPH:
            graph = field
        elif field.number == MODEL_OPSET:
            domain, version = _opset(data, field)
            opsets[domain] = version
        elif field.number == MODEL_METADATA:
            key, value = _pair(data, field)
            metadata[key] = value
    if graph is None or not ir_version:
        raise _refuse(path, "it is no ONNX model: no graph and no IR version in it", 0)
    graph_facts = _graph(data, graph)
    return OnnxFile(
        spec=ModelSpec(
            "onnx",
            tuple(graph_facts.tensors[GRAPH_INPUT]),
            tuple(graph_facts.tensors[GRAPH_OUTPUT]),
            metadata=metadata,
            not_tensors=graph_facts.others[GRAPH_OUTPUT],
        ),
        ir_version=ir_version,
        opsets=opsets,
        nodes=graph_facts.nodes,
        initializers=len(graph_facts.weights),
        size=len(data),
        external_data=tuple(sorted(graph_facts.external)),
        other_inputs=graph_facts.others[GRAPH_INPUT],
        defaults=tuple(graph_facts.defaults),
    )


def _opset(data: Buffer, field: Field) -> tuple[str, int]:
    domain, version = "", 0
    for part in fields(data, field.start, field.end):
        if part.number == 1 and part.wire_type == BYTES:
            domain = field_text(data, part)
        elif part.number == 2:
            version = signed(part.value)
    return domain, version


def _pair(data: Buffer, field: Field) -> tuple[str, str]:
    parts = {1: "", 2: ""}
    for part in fields(data, field.start, field.end):
        if part.number in parts and part.wire_type == BYTES:
            parts[part.number] = field_text(data, part)
    return parts[1], parts[2]


@dataclass(slots=True)
class _Graph:
    tensors: dict[int, list[TensorSpec]]
    others: dict[int, dict[str, str]]
    weights: set[str]
    external: set[str]
    defaults: list[TensorSpec]
    nodes: int = 0


def _graph(data: Buffer, graph: Field) -> _Graph:
    values: dict[int, list[Field]] = {GRAPH_INPUT: [], GRAPH_OUTPUT: []}
    facts = _Graph({number: [] for number in values}, {number: {} for number in values}, set(), set(), [])
    for field in fields(data, graph.start, graph.end):
        if field.wire_type != BYTES:
            continue
        if field.number == GRAPH_NODE:
            facts.nodes += 1
        elif field.number == GRAPH_INITIALIZER:
            for part in fields(data, field.start, field.end):
                if part.wire_type != BYTES:
                    continue
                if part.number == TENSOR_NAME:
                    facts.weights.add(field_text(data, part))
                elif part.number == TENSOR_EXTERNAL_DATA:
                    key, value = _pair(data, part)
                    if key == "location":
                        facts.external.add(value)
        elif field.number in values:
            values[field.number].append(field)
    for number, found in values.items():
        for declared in found:
            name, spec = _value(data, declared)
            if number == GRAPH_INPUT and name in facts.weights:
                if isinstance(spec, TensorSpec):
                    facts.defaults.append(replace(spec, optional=True))
                continue
            if isinstance(spec, str):
                facts.others[number][name] = spec
            else:
                facts.tensors[number].append(spec)
    return facts


def _value(data: Buffer, value: Field) -> tuple[str, TensorSpec | str]:
    name, kind, tensor = "", "of no stated type", None
    for part in fields(data, value.start, value.end):
        if part.wire_type != BYTES:
            continue
        if part.number == VALUE_NAME:
            name = field_text(data, part)
        elif part.number == VALUE_TYPE:
            for choice in fields(data, part.start, part.end):
                if choice.number in TYPE_KINDS:
                    kind, tensor = TYPE_KINDS[choice.number], choice
    if tensor is None or kind != "tensor":
        return name, kind
    code = 0
    shape: list[int] | None = None
    names: list[str | None] = []
    for part in fields(data, tensor.start, tensor.end):
        if part.number == 1:
            code = part.value
        elif part.number == 2 and part.wire_type == BYTES:
            shape, names = _shape(data, part)
    try:
        dtype = DataType.from_onnx(code)
    except KeyError:
        return name, f"tensor of ONNX type {code}"
    return name, TensorSpec(name, dtype, (-2,) if shape is None else tuple(shape), tuple(names))


def _shape(data: Buffer, field: Field) -> tuple[list[int], list[str | None]]:
    shape: list[int] = []
    names: list[str | None] = []
    for dim in fields(data, field.start, field.end):
        if dim.number != 1 or dim.wire_type != BYTES:
            continue
        size, name = -1, None
        for part in fields(data, dim.start, dim.end):
            if part.number == 1 and part.wire_type == VARINT:
                # Exporters write 0 and -1 for "not known"; a tensor that is always empty does not occur.
                size = signed(part.value) if signed(part.value) > 0 else -1
            elif part.number == 2 and part.wire_type == BYTES:
                name = field_text(data, part)
        shape.append(size)
        names.append(name)
    return shape, names
