"""One value of the command line as an array: a file, a picture, JSON, or text."""

from __future__ import annotations

import json
import os
from difflib import get_close_matches
from typing import Any

import numpy as np

from ascend_infer.cli.feeding.array_file import read_npy, read_npz, read_raw
from ascend_infer.cli.feeding.assignment import GivenValue
from ascend_infer.errors import InvalidInputError
from ascend_infer.input_array import as_input
from ascend_infer.refusal import fits
from ascend_infer.regular_file import NotRegularFileError, open_regular, read_regular
from ascend_infer.shortened import shortened_repr
from ascend_infer.types import DataType, TensorSpec

__all__ = ["is_picture", "is_raw", "read_value"]

Array = np.ndarray[Any, np.dtype[Any]]

_RAW = (".bin", ".raw", ".dat")
_PICTURES = (
    ".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".jp2", ".avif", ".heic",
)  # fmt: skip
#: Bytes; more numbers than that are given as .npy.
_LARGEST_JSON = 256 * 1024 * 1024
_KINDS = "a .npy or .npz file, a picture, raw numbers (.bin), JSON such as [1, 2] or text:WORDS"


def read_value(given: GivenValue, tensor: TensorSpec, shape: tuple[int, ...] | None, batched: bool) -> Array:
    """Return the array that a value other than a picture stands for.

    Parameters
    ----------
    given : GivenValue
    tensor : TensorSpec
        The input, batch included.
    shape : tuple of int or None
        What ``--shape`` states; for raw files.
    batched : bool
        The first dimension of ``tensor`` is the batch.

    Raises
    ------
    InvalidInputError
    """
    text = given.text
    if text.startswith("text:"):
        return _text(text.removeprefix("text:"), tensor)
    literal = _literal(text, tensor)
    if literal is not None:
        return as_input(tensor.name, literal[0], tensor.dtype, "no")
    path, member = _member(given)
    head = _head(path, tensor)
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _RAW:
        return read_raw(path, tensor, shape, batched)
    if suffix == ".json":
        return as_input(tensor.name, _json_file(path, tensor), tensor.dtype, "no")
    if head.startswith(b"\x93NUMPY"):
        return read_npy(path, tensor)
    if head.startswith(b"PK\x03\x04"):
        return read_npz(path, member, tensor)
    begins = f"it begins with {head[:8]!r}"
    if head.startswith(b"version https://git-lfs"):
        begins = "it is a Git LFS pointer: run `git lfs pull` to get the file itself"
    raise _refused(tensor, f"{path}, which is none of what can be read: {begins}", _KINDS)


def is_picture(given: GivenValue, tensor: TensorSpec) -> bool:
    """Tell whether a value is a picture's file, by its name or its first bytes.

    Raises
    ------
    InvalidInputError
        It is the path of a file that is not there or cannot be read.
    """
    if given.text.startswith("text:") or _literal(given.text, tensor) is not None:
        return False
    path, _ = _member(given)
    suffix = os.path.splitext(path)[1].lower()
    if suffix in (*_RAW, ".json", ".npy", ".npz"):
        return False
    head = _head(path, tensor)
    if suffix in _PICTURES:
        return True
    from ascend_infer.image.formats import identify

    return identify(head) is not None


def is_raw(given: GivenValue) -> bool:
    """Tell whether a value is a file of raw numbers, which states no shape."""
    return not given.text.startswith("text:") and os.path.splitext(given.text)[1].lower() in _RAW


def _literal(text: str, tensor: TensorSpec) -> tuple[Any] | None:
    """Return the value of JSON, in a tuple; None for what is a path."""
    if not text:
        raise _refused(tensor, "nothing", _KINDS)
    if os.path.lexists(text):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text[0] in '[{"':
            raise _refused(
                tensor, f"{shortened_repr(text)}, which is no JSON ({error})", "JSON such as [1, 2]"
            ) from error
        return None
    if value is None or isinstance(value, dict):
        raise _refused(tensor, f"the JSON {shortened_repr(text)}", "a JSON number, text or list")
    return (value,)


def _text(words: str, tensor: TensorSpec) -> Array:
    if tensor.dtype is not DataType.BYTES:
        raise _refused(tensor, "text", f"numbers: it takes {tensor.dtype}")
    try:
        words.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refused(
            tensor, f"bytes that are no UTF-8 behind text: (character {error.start})", "text in UTF-8"
        ) from error
    rank = 0 if tensor.shape == (-2,) else len(tensor.shape)
    ones = (1,) * rank
    if rank and not fits(ones, tensor.shape):
        raise _refused(tensor, "one text", f"JSON with texts of shape {list(tensor.shape)}")
    return np.array([words], dtype=object).reshape(ones)


def _member(given: GivenValue) -> tuple[str, str | None]:
    """Split ``file.npz:member``."""
    if given.member is None and not os.path.lexists(given.text):
        path, separator, member = given.text.partition(".npz:")
        if separator:
            return f"{path}.npz", member
    return given.text, given.member


def _head(path: str, tensor: TensorSpec) -> bytes:
    """Return a file's first bytes."""
    if path == "-":
        raise _refused(tensor, "'-'", "a file: standard input is not read")
    try:
        descriptor, _ = open_regular(path)
        with open(descriptor, "rb") as file:
            head = file.read(32)
    except NotRegularFileError as error:
        raise _refused(tensor, f"{path}, which is {error.kind} and no regular file", _KINDS) from None
    except FileNotFoundError:
        raise _refused(tensor, f"{path}, which is not there{_neighbour(path)}", _KINDS) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _refused(tensor, f"{path}, which cannot be read ({reason})", _KINDS) from error
    if not head:
        raise _refused(tensor, f"{path}, which is empty", _KINDS)
    return head


def _neighbour(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return ""
    close = get_close_matches(name, names, n=1)
    return f" (did you mean {os.path.join(folder, close[0])}?)" if close else ""


def _json_file(path: str, tensor: TensorSpec) -> Any:
    try:
        value = json.loads(read_regular(path, _LARGEST_JSON).decode("utf-8"))
    except OSError as error:
        raise _refused(tensor, f"{path}, which cannot be read ({error.strerror})", _KINDS) from error
    except (ValueError, RecursionError) as error:
        raise _refused(tensor, f"{path}, which is no JSON ({error})", "JSON such as [1, 2]") from error
    if value is None or isinstance(value, dict):
        raise _refused(tensor, f"{path} with a JSON {type(value).__name__}", "a number, text or list")
    return value


def _refused(tensor: TensorSpec, got: str, expected: str) -> InvalidInputError:
    return InvalidInputError(
        f"input {tensor.name!r}: got {got}; expected {expected}",
        input=tensor.name,
        expected=expected,
        got=got,
    )
