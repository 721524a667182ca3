"""perf_analyzer's input data: its JSON form, and a folder with a raw file an input."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidInputError
from ascend_infer.refusal import fits, shown, unknown_name
from ascend_infer.regular_file import read_regular
from ascend_infer.types import DataType, TensorSpec

__all__ = ["read_input_data"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Bytes.
_LARGEST = 1 << 30


def read_input_data(
    path: str,
    inputs: Sequence[TensorSpec],
    model: str,
    batched: bool,
    batch: int = 1,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> list[dict[str, Array]]:
    """Return requests out of a file or folder (perf_analyzer's docs/input_data.md).

    Parameters
    ----------
    path : str
        A JSON file ``{"data": [{"INPUT": [1, 2, ...], ...}, ...]}``: an entry a row, its values flat or nested, or
        ``{"content": [...], "shape": [...]}``, or ``{"b64": "..."}`` of little-endian bytes. Or a folder with a file
        an input, named as the input: raw numbers of one row, or lines of text.
    inputs : sequence of TensorSpec
        Batch included.
    model : str
    batched : bool
        The first dimension is the batch.
    batch : int
        Rows of a request: request ``i`` holds the entries from ``i`` on, begun again after the last.
    shapes : mapping of str to sequence of int, optional
        Sizes of open dimensions, without the batch, for entries that do not state a shape.

    Returns
    -------
    list of dict of str to ndarray
        As many requests as there are entries.

    Raises
    ------
    InvalidInputError
        The file cannot be read, a name is unknown, an input is missing, or sizes do not fit; names the entry.
    """
    stated = shapes or {}
    if os.path.isdir(path):
        rows = [_folder(path, inputs, batched, stated)]
    else:
        rows = [
            _entry(entry, f"{path}, entry {index}", inputs, model, batched, stated)
            for index, entry in enumerate(_entries(path))
        ]
    if not batched:
        return rows
    requests = []
    for index in range(len(rows)):
        chosen = [rows[(index + step) % len(rows)] for step in range(batch)]
        try:
            requests.append({name: np.stack([row[name] for row in chosen]) for name in chosen[0]})
        except (ValueError, KeyError) as error:
            raise InvalidInputError(
                f"{path}: entries {index} to {index + batch - 1} cannot be put into one batch, their inputs or shapes "
                "differ; use -b 1",
                expected="entries of one shape",
                got=str(error),
            ) from error
    return requests


def _entries(path: str) -> list[Any]:
    form = 'JSON such as {"data": [{"INPUT": [1, 2]}]}'
    try:
        text = json.loads(read_regular(path, _LARGEST).decode("utf-8"))
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be read: {error.strerror or error}", expected="a file or folder", got=path
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path} is no JSON: {error}", expected=form, got=path) from error
    data = text.get("data") if isinstance(text, dict) else None
    if not isinstance(data, list) or not data:
        raise InvalidInputError(f"{path} has no list of data, expected {form}", expected=form, got=path)
    # Streams of sequences are lists of entries.
    flat = [entry for item in data for entry in (item if isinstance(item, list) else [item])]
    if not all(isinstance(entry, dict) for entry in flat):
        raise InvalidInputError(
            f"{path}: an entry of data is no object, expected {form}", expected=form, got=path
        )
    return flat


def _entry(
    entry: Mapping[str, Any],
    where: str,
    inputs: Sequence[TensorSpec],
    model: str,
    batched: bool,
    shapes: Mapping[str, Sequence[int]],
) -> dict[str, Array]:
    names = [tensor.name for tensor in inputs]
    for name in entry:
        if name not in names:
            raise unknown_name(model, "input", name, names)
    row = {}
    for tensor in inputs:
        if tensor.name in entry:
            row[tensor.name] = _value(entry[tensor.name], tensor, where, batched, shapes.get(tensor.name))
        elif not tensor.optional:
            raise _refused(where, tensor, "nothing", "its values")
    return row


def _value(value: Any, tensor: TensorSpec, where: str, batched: bool, shape: Sequence[int] | None) -> Array:
    content, stated = value, None
    if isinstance(value, dict):
        stated = value.get("shape")
        content = value.get("content", value.get("b64"))
    if isinstance(value, dict) and "b64" in value:
        try:
            flat = _bytes(base64.b64decode(str(value["b64"]), validate=True), tensor)
        except (binascii.Error, ValueError) as error:
            raise _refused(
                where, tensor, f"a b64 that cannot be read ({error})", str(tensor.dtype)
            ) from error
    else:
        if not isinstance(content, list):
            raise _refused(where, tensor, f"{type(content).__name__}", "a list of values")
        try:
            if tensor.dtype is DataType.BYTES:
                flat = np.asarray(content, dtype=object).reshape(-1)
            else:
                flat = np.asarray(content).reshape(-1)
                wanted = tensor.dtype.numpy
                if (
                    flat.size
                    and not np.can_cast(flat.dtype, wanted, "same_kind")
                    and flat.dtype.kind not in "iu"
                ):
                    raise _refused(where, tensor, f"values of {flat.dtype}", str(tensor.dtype))
                if wanted.kind in "iu" and flat.size:
                    bounds = np.iinfo(wanted)
                    if flat.min() < bounds.min or flat.max() > bounds.max:
                        raise _refused(where, tensor, f"{flat.min()} to {flat.max()}", str(tensor.dtype))
                flat = flat.astype(wanted)
        except (ValueError, OverflowError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise _refused(where, tensor, f"values that are no array ({error})", str(tensor.dtype)) from error
    return _shaped(flat, tensor, where, batched, stated if stated is not None else shape)


def _folder(
    path: str, inputs: Sequence[TensorSpec], batched: bool, shapes: Mapping[str, Sequence[int]]
) -> dict[str, Array]:
    row: dict[str, Array] = {}
    for tensor in inputs:
        file = os.path.join(path, tensor.name)
        if not os.path.exists(file) and tensor.optional:
            continue
        try:
            data = read_regular(file, _LARGEST)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise _refused(file, tensor, f"no file to read ({reason})", "raw numbers of one row") from error
        if tensor.dtype is DataType.BYTES:
            flat = np.array(data.decode("utf-8", "surrogateescape").splitlines(), dtype=object)
        else:
            flat = _bytes_or_refused(data, tensor, file)
        row[tensor.name] = _shaped(flat, tensor, file, batched, shapes.get(tensor.name))
    return row


def _bytes_or_refused(data: bytes, tensor: TensorSpec, where: str) -> Array:
    try:
        return _bytes(data, tensor)
    except ValueError as error:
        raise _refused(where, tensor, f"{len(data)} bytes", f"whole elements of {tensor.dtype}") from error


def _bytes(data: bytes, tensor: TensorSpec) -> Array:
    if tensor.dtype is DataType.BYTES:
        raise ValueError("text has no raw form here; list it")
    return np.frombuffer(data, tensor.dtype.numpy.newbyteorder("<")).astype(tensor.dtype.numpy)


def _shaped(
    flat: Array, tensor: TensorSpec, where: str, batched: bool, stated: Sequence[int] | None
) -> Array:
    inner = tensor.shape[1:] if batched else tensor.shape
    if stated is not None:
        shape = tuple(stated)
        if not all(isinstance(size, int) and size >= 0 for size in shape) or (
            inner != (-2,) and not fits(shape, inner)
        ):
            raise _refused(where, tensor, f"shape {list(stated)}", shown(inner))
    elif -1 in inner or inner == (-2,):
        raise _refused(where, tensor, "no shape", f"a shape of {shown(inner)}, in the entry or with --shape")
    else:
        shape = inner
    if prod(shape) != flat.size:
        raise _refused(where, tensor, f"{flat.size} values", f"{prod(shape)} for shape {list(shape)}")
    return flat.reshape(shape)


def _refused(where: str, tensor: TensorSpec, got: str, expected: str) -> InvalidInputError:
    return InvalidInputError(
        f"{where}: input {tensor.name!r}: got {got}, expected {expected}",
        input=tensor.name,
        expected=expected,
        got=got,
    )
