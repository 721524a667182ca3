"""Python's numbers and texts as a model's numbers: exactly what was written, or a reason why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidInputError
from ascend_infer.shortened import shortened_repr
from ascend_infer.types import TensorSpec

__all__ = ["numbers_of", "refused"]

Array = np.ndarray[Any, np.dtype[Any]]

#: From here on, a float may stand for a whole number that is another one than was written.
_FLOAT_WHOLE = 2**53
#: Digits of a whole number that no data type has room for; "1e999999999" is not to be written out.
_MOST_DIGITS = 40


def numbers_of(value: Any, tensor: TensorSpec) -> Array:
    """Return numbers, texts of numbers, and lists of them as an array.

    Parameters
    ----------
    value : object
        Lists may be nested. Where numpy's numbers or arrays are among the items, their data type is kept.
    tensor : TensorSpec

    Returns
    -------
    ndarray
        Of the input's data type; of the items' own where they have one.

    Raises
    ------
    InvalidInputError
        The input's data type cannot hold a number. Fractions are rounded to the nearest that it has.
    """
    kinds = _kinds(value)
    try:
        if any(issubclass(kind, np.ndarray | np.number | np.bool_) for kind in kinds):
            return _typed(value, tensor)
        _refuse_kinds(value, kinds, tensor)
        if tensor.dtype.numpy.kind in "iub":
            return _whole_numbers(value, kinds, tensor)
        return _floats(value, kinds, tensor)
    except InvalidInputError:
        raise  # a ValueError too
    except (ValueError, OverflowError) as error:
        raise refused(tensor, value, str(tensor.dtype.numpy)) from error


def refused(tensor: TensorSpec, value: object, expected: str) -> InvalidInputError:
    """Return the error for a value that an input does not take."""
    got = shortened_repr(value, 60)
    return InvalidInputError(
        f"input {tensor.name!r}: got {got}, expected {expected}",
        input=tensor.name,
        expected=expected,
        got=got,
    )


def _kinds(value: Any) -> set[type]:
    """Return the types of the items that are no lists."""
    if not isinstance(value, list | tuple):
        return {type(value)}
    found = set(map(type, value))
    nested = {kind for kind in found if issubclass(kind, list | tuple)}
    if nested:
        found = (found - nested).union(*(_kinds(item) for item in value if isinstance(item, list | tuple)))
    return found


def _refuse_kinds(value: Any, kinds: set[type], tensor: TensorSpec) -> None:
    wanted = tensor.dtype.numpy
    if not all(issubclass(kind, int | float | str | bytes) for kind in kinds):
        raise refused(tensor, value, str(wanted))
    if wanted.kind != "b" and any(issubclass(kind, bool) for kind in kinds):
        raise refused(tensor, value, f"numbers ({wanted}), not booleans")


def _typed(value: Any, tensor: TensorSpec) -> Array:
    """Put numbers that have a data type into one array, for the session to judge as it would any array."""
    wanted = tensor.dtype.numpy
    found = np.asarray(value)
    if found.dtype.kind in "OUS":
        raise refused(tensor, value, f"numbers only, each with a value ({wanted})")
    parts = [np.asarray(item) for item in _leaves(value)]
    types = {part.dtype for part in parts}
    if len(types) > 1:
        if found.dtype.kind != "b" and any(kind.kind == "b" for kind in types):
            raise refused(tensor, value, f"numbers ({wanted}), not booleans")
        # numpy makes float64 of int64 beside float64, or beside uint64.
        whole = [part for part in parts if part.dtype.kind in "iu"] if found.dtype.kind == "f" else []
        for part in whole:
            if not np.array_equal(part.astype(object), part.astype(found.dtype).astype(object)):
                raise refused(tensor, value, f"whole numbers that {found.dtype} beside them can hold")
    return found


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _flat(value: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape of nested lists, and their items in order."""
    items = np.asarray(value, dtype=object)
    flat = [item.decode() if isinstance(item, bytes) else item for item in items.reshape(-1).tolist()]
    if any(isinstance(item, list | tuple) for item in flat):
        raise ValueError("lists of uneven lengths")
    if any("_" in item for item in flat if isinstance(item, str)):
        raise ValueError("1_000 is a number in Python's source only")
    return items.shape, flat


def _integers(value: Any, kinds: set[type]) -> Array | None:
    """Return Python's whole numbers as numpy's where it takes them as such: the quick way for lists of tokens."""
    if not kinds or not kinds <= {int}:
        return None
    found = np.asarray(value)
    return found if found.dtype.kind in "iu" else None


def _whole_numbers(value: Any, kinds: set[type], tensor: TensorSpec) -> Array:
    wanted = tensor.dtype.numpy
    least, most = (0, 1) if wanted.kind == "b" else (np.iinfo(wanted).min, np.iinfo(wanted).max)
    found = _integers(value, kinds)
    # Python's numbers compare exactly; numpy's would by way of float64.
    if found is not None and least <= int(found.min()) and int(found.max()) <= most:
        return found.astype(wanted)
    shape, flat = _flat(value)
    numbers = [_whole(item) for item in flat]
    if None in numbers:
        item = flat[numbers.index(None)]
        exact = "; from 2**53 on they are exact without a point only" if _is_whole(item) else ""
        raise refused(tensor, value, f"whole numbers ({wanted}){exact}")
    if not all(least <= number <= most for number in numbers if number is not None):
        raise refused(tensor, value, f"numbers from {least} to {most} ({wanted})")
    return np.array(numbers, dtype=wanted).reshape(shape)


def _whole(item: int | float | str) -> int | None:
    """Return the whole number that is written; None where it is none, or could be another one."""
    if isinstance(item, int):
        return int(item)
    if isinstance(item, float):
        return int(item) if _is_whole(item) and abs(item) < _FLOAT_WHOLE else None
    try:
        return int(item)
    except ValueError:
        pass
    try:
        exact = Decimal(item.strip())  # through float, 9007199254740993.0 would be ...992
    except InvalidOperation as error:
        raise ValueError(item) from error
    if not exact.is_finite():
        return None
    if exact.adjusted() > _MOST_DIGITS:
        raise OverflowError(item)
    return int(exact) if exact == exact.to_integral_value() else None


def _is_whole(item: object) -> bool:
    return isinstance(item, float) and item.is_integer()


def _floats(value: Any, kinds: set[type], tensor: TensorSpec) -> Array:
    wanted = tensor.dtype.numpy
    flat: Sequence[Any] = ()
    integers = _integers(value, kinds)
    if kinds <= {float}:
        wide = np.asarray(value, dtype=np.float64)
    elif integers is not None:
        wide = integers.astype(np.float64)
        flat = integers.reshape(-1).tolist()
    else:
        shape, flat = _flat(value)
        wide = np.array([float(item) for item in flat], dtype=np.float64).reshape(shape)
    with np.errstate(all="ignore"):
        found: Array = wide.astype(wanted)
        # ml_dtypes' types compare and classify only as wider ones.
        held = found.astype(np.complex128 if wanted.kind == "c" else np.float64)
        lost = (np.isfinite(wide) & ~np.isfinite(held)).reshape(-1)
        # What is written as a whole number is one here too.
        doubtful = (wide == np.trunc(wide)) & ((held != wide) | (np.abs(wide) >= _FLOAT_WHOLE))
    if flat:
        for place in np.flatnonzero(doubtful.reshape(-1) & ~lost).tolist():
            lost[place] = _differs(flat[place], held.reshape(-1)[place].real)
    if lost.any():
        worst = int(lost.argmax())
        item = np.asarray(value, dtype=object).reshape(-1)[worst]
        way = _way_out(item, held.reshape(-1)[worst].real)
        raise refused(tensor, item, f"numbers that {tensor.dtype} can hold{way}")
    return found


def _way_out(item: Any, held: float) -> str:
    """Say how to have the nearest number in place of a whole one, where there is one."""
    if not np.isfinite(held):
        return ""
    text = (item.decode() if isinstance(item, bytes) else str(item)).strip()
    example = f" ({text}.0)" if len(text) <= _MOST_DIGITS else ""
    return (
        f"; write it with a point{example} to have it rounded, to {held:.0f}, or make the array in a function given as "
        "preprocess="
    )


def _differs(item: int | float | str, held: float) -> bool:
    """Tell whether a whole number became another one, or a number that is written out became infinite."""
    if isinstance(item, float):
        return False  # a fraction, or one that was infinite before
    if not np.isfinite(held):
        return isinstance(item, int) or "n" not in item.lower()  # "inf" and "nan" are meant so
    try:
        return int(item) != int(held)
    except ValueError:
        return False
