"""Arrays out of .npy, .npz and raw files, never by unpickling."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from ascend_infer.cli.printing import note
from ascend_infer.errors import InvalidInputError
from ascend_infer.regular_file import open_regular
from ascend_infer.types import DataType, TensorSpec

__all__ = ["npz_members", "read_npy", "read_npz", "read_raw"]

Array = np.ndarray[Any, np.dtype[Any]]


def read_npy(path: str, tensor: TensorSpec) -> Array:
    """Return the array of a .npy file.

    Raises
    ------
    InvalidInputError
        It is damaged, cut short, or holds Python objects.
    """
    with _explained(path), open(path, "rb") as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return _typed(array, tensor)


def npz_members(path: str) -> list[str]:
    """Return the names of the arrays in an .npz file."""
    with _explained(path), zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def read_npz(path: str, member: str | None, tensor: TensorSpec) -> Array:
    """Return one array of an .npz file: the member named, the input's namesake, or the only one.

    Raises
    ------
    InvalidInputError
    """
    members = npz_members(path)
    if member is None:
        member = tensor.name if tensor.name in members or len(members) != 1 else members[0]
    if member not in members:
        listed = ", ".join(repr(name) for name in members[:12]) or "nothing"
        raise InvalidInputError(
            f"input {tensor.name!r}: {path} has no member {member!r}; it holds {listed}: write "
            f"{tensor.name}={path}:MEMBER",
            input=tensor.name,
            expected=listed,
            got=member,
        )
    with _explained(path), zipfile.ZipFile(path) as archive:
        inside = member if member in archive.namelist() else f"{member}.npy"
        with archive.open(inside) as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return _typed(array, tensor)


def read_raw(path: str, tensor: TensorSpec, shape: tuple[int, ...] | None, batched: bool) -> Array:
    """Return a file's bytes as an array of the input's type and shape; one open dimension follows from the size.

    Parameters
    ----------
    path : str
    tensor : TensorSpec
    shape : tuple of int or None
        Stated with ``--shape``.
    batched : bool
        The first dimension is the batch, and may be taken as 1.

    Raises
    ------
    InvalidInputError
    """
    if tensor.dtype is DataType.BYTES:
        raise InvalidInputError(
            f"input {tensor.name!r} takes text (BYTES), whose elements have no fixed size: got raw file {path}, "
            f"expected {tensor.name}=text:..., JSON or .npy",
            input=tensor.name,
            expected="text, JSON or .npy",
            got=path,
        )
    with _explained(path):
        descriptor, status = open_regular(path)
    with open(descriptor, "rb") as file:
        size = status.st_size
        wanted = _raw_shape(path, tensor, shape, batched, size)
        with _explained(path):
            data = np.fromfile(file, np.uint8, size)
    if data.size != size:
        raise InvalidInputError(
            f"{path}: the file became shorter while it was read", expected=f"{size} bytes", got=str(data.size)
        )
    if shape is None and -1 in tensor.shape:
        note(f"{path} taken as {tensor.name} {tensor.dtype} {list(wanted)}")
    return data.view(tensor.dtype.numpy).reshape(wanted)


def _raw_shape(
    path: str, tensor: TensorSpec, shape: tuple[int, ...] | None, batched: bool, size: int
) -> tuple[int, ...]:
    """Return the shape of a raw file's array, which its size alone settles."""
    itemsize = tensor.dtype.itemsize
    wanted = _filled(shape or tensor.shape, size // itemsize, batched)
    if wanted is None or prod(wanted) * itemsize != size:
        shown = "any shape" if tensor.shape == (-2,) else str(list(shape or tensor.shape))
        raise InvalidInputError(
            f"input {tensor.name!r}: {path} holds {size:,} bytes, expected {tensor.dtype} {shown}, "
            f"{itemsize} bytes an element" + ("" if shape else "; --shape states open dimensions"),
            input=tensor.name,
            expected=f"{tensor.dtype} {shown}",
            got=f"{size} bytes",
        )
    return wanted


def _filled(shape: Sequence[int], elements: int, batched: bool) -> tuple[int, ...] | None:
    """Return a shape with its one open dimension worked out; None where there are more."""
    dims = list(shape)
    if batched and dims.count(-1) > 1 and dims[0] == -1:
        dims[0] = 1
    known = prod(dim for dim in dims if dim != -1)
    if dims.count(-1) > 1 or -2 in dims or known == 0:
        return None
    return tuple(elements // known if dim == -1 else dim for dim in dims)


def _typed(array: Array, tensor: TensorSpec) -> Array:
    # numpy writes types that it does not know itself (bfloat16) as plain bytes of their width.
    if (
        array.dtype.kind == "V"
        and array.dtype.names is None
        and array.dtype.itemsize == tensor.dtype.itemsize
    ):
        return array.view(tensor.dtype.numpy)
    return array


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # numpy's and zipfile's readers raise a dozen kinds for damaged files
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        elif isinstance(error, MemoryError):
            reason = f"it does not fit into memory ({error})" if str(error) else "it does not fit into memory"
        elif "Object arrays" in str(error):
            reason = "it holds Python objects, which are not unpickled; save text as array.astype(str)"
        elif "allow_pickle" in str(error):  # numpy's advice for a header that is too long: trust the file
            reason = "it is damaged or cut short (its header is longer than any that describes plain numbers)"
        else:
            reason = f"it is damaged or cut short ({error or type(error).__name__})"
        raise InvalidInputError(
            f"{path}: {reason}", expected="a whole file of plain numbers or text", got=reason
        ) from error
