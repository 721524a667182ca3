"""MODEL_INOUT_INFO: the partition that says what goes in and out, as ``aclmdlGetDescFromFile`` reads it.

A sequence of blocks ``u32 type, u32 length, bytes``; docs/om.md has the layout. Files from before mid-2023
have none: the same facts are then derived from the graph (graph_io.py), into the same class.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ascend_infer.om.damage import DamagedError

__all__ = ["MAX_DIMS", "MAX_GEARS", "InOutInfo", "TensorInfo", "pack_inout", "parse_inout"]

# ACL's own limit on the dimensions it describes (ACL_MAX_DIM_CNT).
MAX_DIMS = 128
# GE compiles 2 to 100.
MAX_GEARS = 4096

INPUTS, OUTPUTS, BATCH, HW, DIMS, OUTPUT_SHAPE, SHAPE_ORDER = range(7)
_TENSOR = struct.Struct("<QiiIIII")


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One input or output as the file describes it; numbers are ACL's.

    Attributes
    ----------
    name : str
    dtype, format : int
        ``aclDataType`` and ``aclFormat``; -1 for undefined.
    dims, dims_v2 : tuple of int
        ``aclmdlGetInputDims`` and ``aclmdlGetInputDimsV2``; they differ under static AIPP only.
    size : int
        Bytes of the largest gear; 0 where a dimension is open.
    shape_range : tuple of (int, int)
        Lowest and highest value of each dimension, -1 for no limit; empty for static shapes.
    """

    name: str
    dtype: int
    format: int
    dims: tuple[int, ...]
    dims_v2: tuple[int, ...]
    size: int
    shape_range: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class InOutInfo:
    """All that the partition can hold.

    Attributes
    ----------
    inputs, outputs : tuple of TensorInfo
        In index order, hidden inputs included.
    batch_gears : tuple of int
    hw_gears, dims_gears : tuple of tuple of int
        At most one of the three kinds is there.
    output_shapes : tuple of str
        ``"gear,output,d0,d1,..."``; gear -1 for an output that is the same in all.
    shape_order : tuple of str
        Input names in the order in which a dims gear's values fill the -1s.
    """

    inputs: tuple[TensorInfo, ...] = ()
    outputs: tuple[TensorInfo, ...] = ()
    batch_gears: tuple[int, ...] = ()
    hw_gears: tuple[tuple[int, ...], ...] = ()
    dims_gears: tuple[tuple[int, ...], ...] = ()
    output_shapes: tuple[str, ...] = ()
    shape_order: tuple[str, ...] = ()


class _Cursor:
    """A place in the bytes that cannot be moved past the end of its block."""

    def __init__(self, data: bytes, offset: int, end: int) -> None:
        self.data, self.offset, self.end = data, offset, end

    def _advance(self, size: int, what: str) -> int:
        begin = self.offset
        if size > self.end - begin:
            raise DamagedError(
                f"the I/O description ends inside {what}: {size} bytes wanted, {self.end - begin} left", begin
            )
        self.offset = begin + size
        return begin

    def u32(self, what: str) -> int:
        begin = self._advance(4, what)
        return int.from_bytes(self.data[begin : begin + 4], "little")

    def tensor(self) -> tuple[int, int, int, int, int, int, int]:
        fields: tuple[int, int, int, int, int, int, int] = _TENSOR.unpack_from(
            self.data, self._advance(_TENSOR.size, "a tensor")
        )
        return fields

    def text(self, size: int, what: str) -> str:
        begin = self._advance(size, what)
        return self.data[begin : begin + size].decode("utf-8", "backslashreplace")

    def numbers(self, count: int, what: str) -> tuple[int, ...]:
        begin = self._advance(8 * count, what)
        return struct.unpack_from(f"<{count}q", self.data, begin)

    def dims(self, size: int, what: str) -> tuple[int, ...]:
        if size % 8 or size > 8 * MAX_DIMS:
            raise DamagedError(
                f"{what} take {size} bytes, which is no list of at most {MAX_DIMS}", self.offset
            )
        return self.numbers(size // 8, what)


def parse_inout(data: bytes) -> InOutInfo:
    """Read the partition's bytes; blocks of types that are not known are skipped.

    Raises
    ------
    DamagedError
        When a count or length in it does not fit.
    """
    inputs: tuple[TensorInfo, ...] = ()
    outputs: tuple[TensorInfo, ...] = ()
    batch: tuple[int, ...] = ()
    hw: tuple[tuple[int, ...], ...] = ()
    dims: tuple[tuple[int, ...], ...] = ()
    shapes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    for kind, block in _blocks(data):
        if kind == INPUTS:
            inputs += _tensors(block, "input")
        elif kind == OUTPUTS:
            outputs += _tensors(block, "output")
        elif kind == BATCH:
            count = block.u32("the batch gears")
            if count > MAX_GEARS:
                raise DamagedError(f"{count:,} gears are more than a model can have", block.offset)
            batch = block.numbers(count, "the batch gears")
        elif kind == HW:
            hw = _gears(block)
        elif kind == DIMS:
            dims = _gears(block)
        elif kind == OUTPUT_SHAPE:
            shapes = _strings(block)
        elif kind == SHAPE_ORDER:
            order = _strings(block)
    return InOutInfo(inputs, outputs, batch, hw, dims, shapes, order)


def _blocks(data: bytes) -> Iterator[tuple[int, _Cursor]]:
    outer = _Cursor(data, 0, len(data))
    while outer.offset < outer.end:
        kind = outer.u32("a block's type")
        size = outer.u32("a block's length")
        begin = outer._advance(size, f"block {kind}")
        yield kind, _Cursor(data, begin, begin + size)


def _tensors(block: _Cursor, what: str) -> tuple[TensorInfo, ...]:
    tensors = []
    for number in range(block.u32(f"the number of {what}s")):
        place = f"{what} {number}"
        size, layout, dtype, name_size, dims_size, v2_size, range_size = block.tensor()
        name = block.text(name_size, f"the name of {place}")
        dims = block.dims(dims_size, f"the dims of {place}")
        dims_v2 = block.dims(v2_size, f"the dims v2 of {place}")
        if range_size % 16:
            raise DamagedError(f"the shape range of {place} takes {range_size} bytes", block.offset)
        limits = block.dims(range_size, f"the shape range of {place}")
        # ACL turns its "reserved" format and its undefined type into -1.
        tensors.append(
            TensorInfo(
                name,
                -1 if dtype == 28 else dtype,
                -1 if layout & 0xFF == 40 else layout,
                dims,
                dims_v2,
                size,
                tuple(zip(limits[::2], limits[1::2], strict=True)),
            )
        )
    return tuple(tensors)


def _lengths(block: _Cursor, what: str) -> list[int]:
    return [block.u32(what) for _ in range(block.u32(what))]


def _gears(block: _Cursor) -> tuple[tuple[int, ...], ...]:
    counts = _lengths(block, "the gears")
    if len(counts) > MAX_GEARS:
        raise DamagedError(f"{len(counts):,} gears are more than a model can have", block.offset)
    return tuple(block.numbers(count, "the gears") for count in counts)


def _strings(block: _Cursor) -> tuple[str, ...]:
    return tuple(block.text(size, "a string") for size in _lengths(block, "the strings"))


def pack_inout(info: InOutInfo) -> bytes:
    """Return the partition's bytes; blocks without content are left out, as ATC does."""
    blocks = [(INPUTS, _pack_tensors(info.inputs)), (OUTPUTS, _pack_tensors(info.outputs))]
    if info.batch_gears:
        blocks.append((BATCH, _u32s([len(info.batch_gears)]) + _i64s(info.batch_gears)))
    for kind, gears in ((HW, info.hw_gears), (DIMS, info.dims_gears)):
        if gears:
            blocks.append((kind, _u32s([len(gears), *map(len, gears)]) + b"".join(map(_i64s, gears))))
    for kind, texts in ((OUTPUT_SHAPE, info.output_shapes), (SHAPE_ORDER, info.shape_order)):
        if texts:
            raw = [text.encode("utf-8") for text in texts]
            blocks.append((kind, _u32s([len(raw), *map(len, raw)]) + b"".join(raw)))
    return b"".join(_u32s([kind, len(body)]) + body for kind, body in blocks)


def _u32s(values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def _i64s(values: tuple[int, ...]) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def _pack_tensors(tensors: tuple[TensorInfo, ...]) -> bytes:
    body = [_u32s([len(tensors)])]
    for tensor in tensors:
        name = tensor.name.encode("utf-8")
        limits = tuple(value for pair in tensor.shape_range for value in pair)
        body.append(
            _TENSOR.pack(
                tensor.size, tensor.format, tensor.dtype, len(name), 8 * len(tensor.dims),
                8 * len(tensor.dims_v2), 8 * len(limits),
            )
        )  # fmt: skip
        body += [name, _i64s(tensor.dims), _i64s(tensor.dims_v2), _i64s(limits)]
    return b"".join(body)
