"""Turning whatever a caller has into the array a model takes, without ever changing a value unasked."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ascend_infer.errors import InvalidInputError
from ascend_infer.shortened import shortened_repr
from ascend_infer.types import DataType

__all__ = ["Casting", "as_input"]

Array = np.ndarray[Any, np.dtype[Any]]

#: numpy's casting rules; "no" allows byte order to change and nothing else.
Casting = Literal["no", "safe", "same_kind", "unsafe"]

_KINDS = {
    "b": "booleans",
    "i": "whole numbers",
    "u": "whole numbers",
    "f": "numbers",
    "V": "numbers",
    "c": "numbers",
}


def as_input(name: str, value: Any, dtype: DataType, casting: Casting) -> Array:
    """Return ``value`` as a C-contiguous, aligned array of this data type in native byte order.

    Parameters
    ----------
    name : str
        The input's name, for messages.
    value : array-like
        An ndarray (any order, strides, byte order), anything with ``__array__``, ``__dlpack__`` or the buffer
        protocol, or numbers and nested lists, which have no data type of their own and take the input's if
        that holds them exactly enough (whole numbers in range; floats only for float inputs).
    dtype : DataType
    casting : {"no", "safe", "same_kind", "unsafe"}
        For values that do have a data type.

    Returns
    -------
    ndarray
        ``value`` itself when nothing had to be changed, else a copy. BYTES come as an object array of
        ``str``.

    Raises
    ------
    InvalidInputError
        The value is no array, its data type is another one, or a string is not UTF-8.
    """
    array = _array(name, value, dtype)
    if dtype is DataType.BYTES:
        return _strings(name, array)
    wanted = dtype.numpy
    if array.dtype != wanted:
        array = _converted(name, array, dtype, casting)
    if not array.dtype.isnative or not array.flags.c_contiguous or not array.flags.aligned:
        # np.ascontiguousarray would give a scalar a dimension.
        array = np.array(array, dtype=wanted, order="C", copy=True)
    return array


def _array(name: str, value: Any, dtype: DataType) -> Array:
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise _error(name, "an array with masked elements", "values for all elements: use .filled(...)")
        return np.asarray(value)
    if value is None:
        raise _error(name, "None", f"an array of {dtype}; leave an optional input out instead")
    try:
        if isinstance(value, np.generic) or hasattr(value, "__array__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        if isinstance(value, bytes | bytearray | memoryview) or hasattr(value, "__array_interface__"):
            return _buffer(value, dtype)
        if isinstance(value, list | tuple | int | float | str):
            return _from_python(name, value, dtype)
        return np.asarray(memoryview(value))
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"input {name!r}: got {type(value).__name__}, which gives no array ({error}); expected an array "
            f"of {dtype}",
            input=name,
            expected=f"an array of {dtype}",
            got=type(value).__name__,
        ) from error


def _buffer(value: Any, dtype: DataType) -> Array:
    if isinstance(value, bytes | bytearray) and dtype is DataType.BYTES:
        return np.array(bytes(value), dtype=object)
    return np.asarray(value) if hasattr(value, "__array_interface__") else np.asarray(memoryview(value))


def _from_python(name: str, value: Any, dtype: DataType) -> Array:
    if dtype is DataType.BYTES:
        return np.array(value, dtype=object)
    loose = np.asarray(value)
    if isinstance(value, list | tuple) and any(isinstance(item, np.ndarray | np.generic) for item in value):
        return loose  # a list of arrays has a data type, and is held to it as one array would be
    if loose.dtype == object:
        numbers = [item for item in loose.reshape(-1) if isinstance(item, int)]
        if len(numbers) == loose.size and loose.size:
            worst = max(numbers, key=abs)
            raise _error(
                name, f"the number {shortened_repr(worst, 30)}", f"{dtype}, which has no room for it"
            )
        raise _error(name, "nested lists of uneven lengths, or objects", f"an array of {dtype}")
    if loose.size == 0:
        return np.empty(loose.shape, dtype.numpy)
    wanted = dtype.numpy
    kind = "f" if wanted.kind == "V" else wanted.kind
    allowed = {"b": "b", "i": "iu", "u": "iu", "f": "iuf", "c": "iufc"}[kind]
    if kind == "u" and loose.dtype.kind == "f" and np.asarray(value, dtype=object).dtype == object:
        # numpy makes floats of a list that mixes whole numbers above and below 2**63.
        exact = np.asarray(value, dtype=object)
        if all(isinstance(item, int) and not isinstance(item, bool) for item in exact.reshape(-1)):
            return _in_range(name, exact, dtype)
    if loose.dtype.kind not in allowed:
        raise _error(name, f"a list of {_KINDS.get(loose.dtype.kind, 'text')}", f"{_KINDS[kind]} for {dtype}")
    if kind in "iu":
        return _in_range(name, loose, dtype)
    # ml_dtypes' types compare and classify only as wider ones.
    wide = np.complex128 if kind == "c" else np.float64
    with np.errstate(all="ignore"):
        result: Array = loose.astype(wanted)
        lost = ~np.isfinite(result.astype(wide)) & np.isfinite(loose.astype(wide))
    if loose.dtype.kind in "iu":
        lost |= _other_numbers(loose, result)
    elif loose.dtype.kind == "f":
        lost |= _rounded_wholes(value, loose, result.astype(wide).real)
    if lost.any():
        first = int(lost.reshape(-1).argmax())
        # What was written: numpy may have rounded it already.
        worst = np.asarray(value, dtype=object).reshape(-1)[first]
        raise _error(name, f"the number {worst}", f"numbers that {dtype} can hold")
    return result


def _other_numbers(whole: Array, result: Array) -> Array:
    """Tell which whole numbers became other numbers in an array of floats, without rounding either side."""
    if whole.dtype.itemsize < 8:
        whole = whole.astype(np.int64)
    held = result.astype(np.complex128).real if result.dtype.kind == "c" else result.astype(np.float64)
    bounds = np.iinfo(whole.dtype)
    # The largest number is rounded to the power of two above it, which the type does not hold any more.
    inside = (held >= float(bounds.min)) & (held < float(bounds.max))
    changed: Array = ~inside | (np.where(inside, held, 0).astype(whole.dtype) != whole)
    return changed


def _rounded_wholes(value: Any, loose: Array, held: Array) -> Array:
    """Tell which whole numbers of a list that has fractions too are not held; fractions may be rounded."""
    with np.errstate(all="ignore"):
        suspect: Array = (loose == np.trunc(loose)) & ((held != loose) | (np.abs(loose) >= 2.0**53))
    if not suspect.any():
        return suspect
    written = np.asarray(value, dtype=object).reshape(-1)
    for index in np.flatnonzero(suspect):
        item, number = written[index], float(held.reshape(-1)[index])
        suspect.flat[index] = isinstance(item, int) and (not np.isfinite(number) or int(number) != item)
    return suspect


def _in_range(name: str, numbers: Array, dtype: DataType) -> Array:
    bounds = np.iinfo(dtype.numpy)
    low, high = int(numbers.min()), int(numbers.max())
    if low < bounds.min or high > bounds.max:
        raise _error(name, f"{low} to {high}", f"{bounds.min} to {bounds.max} for {dtype}")
    return numbers.astype(dtype.numpy)


def _converted(name: str, array: Array, dtype: DataType, casting: Casting) -> Array:
    wanted = dtype.numpy
    if array.dtype.newbyteorder("=") == wanted:
        return array.astype(wanted, order="C")
    if casting != "no" and array.dtype.kind not in "OSUMm" and np.can_cast(array.dtype, wanted, casting):
        # Dropping the imaginary part is what "unsafe" asks for; numpy would warn of it all the same.
        source = array.real if array.dtype.kind == "c" and wanted.kind != "c" else array
        with np.errstate(all="ignore"):
            result = source.astype(wanted, order="C", casting=casting)
        # numpy calls INT64 to FP64 safe, though not every whole number above 2**53 is a double.
        if casting == "safe" and array.dtype.kind in "iu" and wanted.kind in "fVc":
            lost = _other_numbers(array, result)
            if lost.any():
                raise _error(
                    name,
                    f"the number {array[lost].flat[0]} in an array of {array.dtype}",
                    f"numbers that {dtype} can hold; cast='same_kind' rounds them",
                )
        return result
    got = str(array.dtype)
    if array.dtype == object:
        hint = "; an object array comes from rows of uneven lengths or from mixed values"
    elif casting == "no":
        rule = next((c for c in ("safe", "same_kind") if np.can_cast(array.dtype, wanted, c)), None)
        call = f"infer(..., cast={rule!r})" if rule else f"array.astype({str(wanted)!r})"
        hint = f"; convert it with array.astype({str(wanted)!r})" + (
            f" or allow it with {call}" if rule else ""
        )
    else:
        hint = f"; cast={casting!r} does not allow this conversion"
    raise InvalidInputError(
        f"input {name!r}: got {got}, expected {wanted} ({dtype}){hint}",
        input=name,
        expected=f"{wanted} ({dtype})",
        got=got,
    )


def _strings(name: str, array: Array) -> Array:
    if array.dtype.kind not in "OSUT":
        raise InvalidInputError(
            f"input {name!r}: got {array.dtype}, expected text: an array of str or bytes (BYTES)",
            input=name,
            expected="str or bytes (BYTES)",
            got=str(array.dtype),
        )
    result: Array = np.empty(array.shape, dtype=object)
    flat = result.reshape(-1)
    for index, item in enumerate(array.reshape(-1)):
        if isinstance(item, str):
            if not item.isascii() and not _encodes(item):
                raise _error(name, f"half a surrogate pair in element {index}", "text that UTF-8 can hold")
            flat[index] = str(item)
        elif isinstance(item, bytes | bytearray | memoryview):
            try:
                flat[index] = bytes(item).decode("utf-8")
            except UnicodeDecodeError as error:
                raise InvalidInputError(
                    f"input {name!r}, element {index}: got bytes that are not UTF-8 (byte {error.start}: "
                    f"0x{error.object[error.start]:02x}), expected text; ONNX strings are UTF-8, so raw data "
                    "needs a UINT8 input",
                    input=name,
                    expected="UTF-8",
                    got=f"byte 0x{error.object[error.start]:02x}",
                ) from error
        else:
            raise _error(name, f"{type(item).__name__} as element {index}", "str or bytes")
    return result


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _error(name: str, got: str, expected: str) -> InvalidInputError:
    return InvalidInputError(
        f"input {name!r}: got {got}, expected {expected}", input=name, expected=expected, got=got
    )
