"""Working out a simulator model: checking what the caller asks for and filling in dims, sizes and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ascend_infer.errors import InvalidOptionError
from ascend_infer.om.aipp import OmAipp
from ascend_infer.om.codes import FORMAT_CODES
from ascend_infer.om.feed import Feed, feed_of
from ascend_infer.om.gears import Dims, GearInput, fill_gear
from ascend_infer.om.graph_io import SHAPE_DATA, tensor_bytes
from ascend_infer.om.inout import MAX_DIMS, InOutInfo, TensorInfo
from ascend_infer.types import DataType, Gear, TensorSpec

__all__ = ["Plan", "PlannedGear", "format_of", "make_plan"]

# atc takes up to 100 gears.
_MAX_GEARS = 100
_INT32 = 3
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PlannedGear:
    """A gear with every shape in it: what is fed, what the ONNX model gets, what comes out."""

    values: Dims
    inputs: tuple[Dims, ...]
    onnx_inputs: tuple[Dims, ...]
    outputs: tuple[Dims, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the file's partitions are written from.

    Attributes
    ----------
    inputs, outputs : tuple of TensorSpec
        The ONNX model's.
    feeds : tuple of Feed
        What the caller feeds, by input.
    info : InOutInfo
        The description, hidden input included.
    root_dims : tuple of dims
        The inputs' dims (not v2) in the largest gear, the hidden one's last.
    dynamic : str
        ``static``, ``batch``, ``hw``, ``dims`` or ``shape``.
    gears : tuple of PlannedGear
    aipp : mapping of int to OmAipp
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    feeds: tuple[Feed, ...]
    info: InOutInfo
    root_dims: tuple[Dims, ...]
    dynamic: str
    gears: tuple[PlannedGear, ...]
    aipp: Mapping[int, OmAipp]


def format_of(shape: Dims) -> int:
    """Return the format ATC gives a tensor from ONNX: NCHW with four dimensions, else ND."""
    return FORMAT_CODES["NCHW" if len(shape) == 4 else "ND"]


def make_plan(
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    names: Sequence[str],
    gears: Sequence[Gear],
    gear_outputs: Sequence[Sequence[Sequence[int]]] | None,
    shape_order: Sequence[str],
    ranges: Mapping[str, Sequence[tuple[int, int]]],
    aipp: Mapping[str, OmAipp],
) -> Plan:
    """Check and fill in; :func:`write_simulator_model` documents the arguments.

    Raises
    ------
    InvalidOptionError
        When they do not fit together.
    """
    _check_tensors("inputs", inputs)
    _check_tensors("outputs", outputs)
    unknown = [name for name in (*aipp, *ranges) if name not in {t.name for t in (*inputs, *outputs)}]
    if unknown:
        raise _wrong(
            "aipp" if unknown[0] in aipp else "shape_ranges", unknown[0], "the model has no such tensor"
        )
    feeds = tuple(feed_of(tensor, aipp.get(tensor.name)) for tensor in inputs)
    by_index = {i: aipp[tensor.name] for i, tensor in enumerate(inputs) if tensor.name in aipp}
    open_dims = any(-1 in tensor.shape for tensor in inputs)
    if gears:
        if ranges:
            raise _wrong("shape_ranges", ranges, "a model has gears or ranges, not both")
        return _with_gears(inputs, outputs, names, gears, gear_outputs, shape_order, feeds, by_index)
    if gear_outputs is not None:
        raise _wrong("gear_outputs", len(gear_outputs), "there are no gears")
    dynamic = open_dims or any(-1 in tensor.shape for tensor in outputs)
    if dynamic and aipp:
        raise _wrong("aipp", sorted(aipp), "atc compiles no AIPP into models of dynamic shape")
    if ranges and not dynamic:
        raise _wrong("shape_ranges", sorted(ranges), "every dimension is fixed")
    described = [
        _info(tensor.name, feed.dtype, feed.format, feed.dims, feed.dims_v2, _range(tensor, ranges, dynamic))
        for tensor, feed in zip(inputs, feeds, strict=True)
    ]
    results = [
        _info(name, t.dtype, format_of(t.shape), t.shape, t.shape, _range(t, ranges, dynamic))
        for name, t in zip(names, outputs, strict=True)
    ]
    return Plan(
        tuple(inputs), tuple(outputs), feeds, InOutInfo(tuple(described), tuple(results)),
        tuple(feed.dims for feed in feeds), "shape" if dynamic else "static", (), by_index,
    )  # fmt: skip


def _wrong(option: str, got: object, why: str) -> InvalidOptionError:
    return InvalidOptionError(f"{option}: got {got!r}: {why}", option=option, got=got)


def _check_tensors(option: str, tensors: Sequence[TensorSpec]) -> None:
    if not tensors:
        raise _wrong(option, [], "a model has at least one")
    names = [tensor.name for tensor in tensors]
    for tensor in tensors:
        if not tensor.name or names.count(tensor.name) > 1 or tensor.name == SHAPE_DATA:
            raise _wrong(option, tensor.name, "every tensor has a name of its own")
        try:
            tensor.name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise _wrong(option, tensor.name, f"the name is no text: {error.reason}") from error
        if tensor.dtype is DataType.BYTES:
            raise _wrong(option, tensor.name, "strings have no size on a device")
        if len(tensor.shape) > MAX_DIMS or any(
            type(d) is not int or not -1 <= d < 1 << 31 for d in tensor.shape
        ):
            raise _wrong(option, str(tensor), "dimensions are sizes, or -1 for open ones")


def _range(tensor: TensorSpec, ranges: Mapping[str, Sequence[tuple[int, int]]], dynamic: bool) -> Ranges:
    if not dynamic:
        return ()
    given = ranges.get(tensor.name)
    if given is None:
        return tuple((1, -1) if d == -1 else (d, d) for d in tensor.shape)
    pairs = tuple((low, high) for low, high in given)
    if len(pairs) != len(tensor.shape):
        raise _wrong("shape_ranges", tensor.name, f"one pair for each of {len(tensor.shape)} dimensions")
    for dim, (low, high) in zip(tensor.shape, pairs, strict=True):
        if not 0 <= low < 1 << 31 or not (high == -1 or low <= high < 1 << 31):
            raise _wrong("shape_ranges", tensor.name, f"({low}, {high}) is no range")
        if dim != -1 and (low, high) != (dim, dim):
            raise _wrong("shape_ranges", tensor.name, f"({low}, {high}) for a dimension fixed to {dim}")
    return pairs


def _info(
    name: str,
    dtype: DataType,
    layout: int,
    dims: Dims,
    dims_v2: Dims,
    limits: Ranges = (),
    size: int | None = None,
) -> TensorInfo:
    code = dtype.acl
    assert code is not None  # _check_tensors keeps out what ACL has no number for
    if size is None:
        size = tensor_bytes(dims_v2, code)
    if size >= 1 << 63:
        raise _wrong("inputs", name, "the tensor is larger than any memory")
    return TensorInfo(name, code, layout, dims, dims_v2, size, limits)


def _with_gears(
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    names: Sequence[str],
    gears: Sequence[Gear],
    gear_outputs: Sequence[Sequence[Sequence[int]]] | None,
    shape_order: Sequence[str],
    feeds: tuple[Feed, ...],
    aipp: Mapping[int, OmAipp],
) -> Plan:
    kind = gears[0].kind
    _check_gears(inputs, gears, aipp, shape_order)
    order = tuple(shape_order) if kind == "dims" else ()
    if kind == "dims" and not order:
        order = tuple(tensor.name for tensor in inputs if -1 in tensor.shape)
    planned, images = [], []
    for number, gear in enumerate(gears):
        fed = fill_gear(kind, gear.values, [GearInput(t.name, f.dims_v2, aipp.get(i)) for i, (t, f) in
                                            enumerate(zip(inputs, feeds, strict=True))], order)  # fmt: skip
        image = fill_gear(kind, gear.values, [GearInput(t.name, f.dims) for t, f in
                                              zip(inputs, feeds, strict=True)], order)  # fmt: skip
        network = fill_gear(kind, gear.values, [GearInput(t.name, t.shape) for t in inputs], order)
        if fed is None or image is None or network is None:
            raise _wrong(
                "gears", list(gear.values), "the values do not match the open dimensions of the inputs"
            )
        given = None if gear_outputs is None else _row(gear_outputs, number, len(gears))
        results = _gear_outputs(gear, outputs, given)
        planned.append(PlannedGear(gear.values, fed, network, results))
        images.append(image)
    codes = [feed.dtype.acl or 0 for feed in feeds]
    results_codes = [tensor.dtype.acl or 0 for tensor in outputs]
    totals = [sum(map(tensor_bytes, gear.inputs, codes)) for gear in planned]
    largest = totals.index(max(totals))
    described = [
        _info(t.name, f.dtype, f.format, f.dims, f.dims_v2,
              size=max(tensor_bytes(gear.inputs[i], codes[i]) for gear in planned))
        for i, (t, f) in enumerate(zip(inputs, feeds, strict=True))
    ]  # fmt: skip
    hidden = (len(gears[0].values),)
    described.append(TensorInfo(SHAPE_DATA, _INT32, FORMAT_CODES["ND"], hidden, hidden, 4 * hidden[0]))
    results_info = [
        _info(name, t.dtype, format_of(t.shape), planned[largest].outputs[i], planned[largest].outputs[i],
              size=max(tensor_bytes(gear.outputs[i], results_codes[i]) for gear in planned))
        for i, (name, t) in enumerate(zip(names, outputs, strict=True))
    ]  # fmt: skip
    values = tuple(gear.values for gear in gears)
    info = InOutInfo(
        tuple(described),
        tuple(results_info),
        batch_gears=tuple(value[0] for value in values) if kind == "batch" else (),
        hw_gears=values if kind == "hw" else (),
        dims_gears=values if kind == "dims" else (),
        output_shapes=tuple(
            ",".join(map(str, (number, output, *dims)))
            for number, gear in enumerate(planned)
            for output, dims in enumerate(gear.outputs)
        ),
        shape_order=order,
    )
    return Plan(
        tuple(inputs), tuple(outputs), feeds, info, (*images[largest], hidden), kind, tuple(planned), aipp
    )


def _row(rows: Sequence[Sequence[Sequence[int]]], number: int, gears: int) -> Sequence[Sequence[int]]:
    if len(rows) != gears:
        raise _wrong("gear_outputs", len(rows), f"one entry for each of {gears} gears")
    return rows[number]


def _check_gears(
    inputs: Sequence[TensorSpec], gears: Sequence[Gear], aipp: Mapping[int, OmAipp], order: Sequence[str]
) -> None:
    kind = gears[0].kind
    length = {"batch": 1, "hw": 2}.get(kind, len(gears[0].values))
    if len(gears) > _MAX_GEARS:
        raise _wrong("gears", len(gears), f"atc takes up to {_MAX_GEARS}")
    if len(set(gears)) != len(gears):
        raise _wrong("gears", [list(gear.values) for gear in gears], "the same gear stands there twice")
    for gear in gears:
        if gear.kind != kind or len(gear.values) != length or not gear.values:
            raise _wrong("gears", list(gear.values), f"all gears are {kind} gears of {length} values")
        if any(type(value) is not int or not 0 < value < 1 << 31 for value in gear.values):
            raise _wrong("gears", list(gear.values), "sizes are positive numbers")
    open_axes = {tensor.name: [i for i, d in enumerate(tensor.shape) if d == -1] for tensor in inputs}
    if not any(open_axes.values()):
        raise _wrong("gears", list(gears[0].values), "no input has an open dimension (-1)")
    if kind == "batch" and any(axes not in ([], [0]) for axes in open_axes.values()):
        raise _wrong("gears", list(gears[0].values), "with batch gears only the first dimension is open")
    if kind == "dims" and length != sum(map(len, open_axes.values())):
        raise _wrong(
            "gears", list(gears[0].values), f"{sum(map(len, open_axes.values()))} dimensions are open"
        )
    if kind == "dims" and aipp:
        raise _wrong(
            "aipp", [inputs[i].name for i in aipp], "atc compiles no AIPP into models with dims gears"
        )
    if order and (
        kind != "dims" or len(set(order)) != len(order) or any(name not in open_axes for name in order)
    ):
        raise _wrong("shape_order", list(order), "names of inputs, each once, for dims gears")


def _gear_outputs(
    gear: Gear, outputs: Sequence[TensorSpec], given: Sequence[Sequence[int]] | None
) -> tuple[Dims, ...]:
    if given is None:
        filled = []
        for tensor in outputs:
            dims = tensor.shape
            if gear.kind == "batch" and dims and dims[0] == -1:
                dims = (gear.values[0], *dims[1:])
            if -1 in dims:
                raise _wrong(
                    "gear_outputs", None, f"needed: {tensor} does not follow from gear {list(gear.values)}"
                )
            filled.append(dims)
        return tuple(filled)
    if len(given) != len(outputs):
        raise _wrong("gear_outputs", len(given), f"shapes of {len(outputs)} outputs for each gear")
    for tensor, row in zip(outputs, given, strict=True):
        fits = len(row) == len(tensor.shape) and all(
            type(d) is int and 0 <= d < 1 << 31 and want in (-1, d)
            for d, want in zip(row, tensor.shape, strict=True)
        )
        if not fits:
            raise _wrong("gear_outputs", list(row), f"it does not fit {tensor}")
    return tuple(tuple(dims) for dims in given)
