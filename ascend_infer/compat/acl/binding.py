"""One C function as pyACL calls it: whole numbers in, what the function wrote and its code out."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from operator import index
from typing import Any

from ascend_infer.compat.acl.prototypes import PROTOTYPES
from ascend_infer.compat.acl.structs import READERS

__all__ = ["Call", "bind", "raw_function"]

Call = Callable[..., Any]

_TYPES: dict[str, Any] = {
    "b": ctypes.c_int8,
    "B": ctypes.c_uint8,
    "h": ctypes.c_int16,
    "H": ctypes.c_uint16,
    "i": ctypes.c_int32,
    "I": ctypes.c_uint32,
    "q": ctypes.c_int64,
    "Q": ctypes.c_uint64,
    "P": ctypes.c_uint64,
    "f": ctypes.c_float,
    "s": ctypes.c_char_p,
    "-": None,
}
_FORM = re.compile(r"(.)\((.*)\)")


def _parts(c_name: str) -> tuple[str, list[str]]:
    form = _FORM.fullmatch(PROTOTYPES[c_name])
    assert form is not None
    return form[1], form[2].split(",") if form[2] else []


def raw_function(c_name: str, address: int, *, releases_gil: bool = False) -> Call:
    """Return the C function itself; what it writes is passed as addresses."""
    returns, letters = _parts(c_name)
    arguments = [ctypes.c_void_p if letter.startswith("*") else _TYPES[letter] for letter in letters]
    make = ctypes.CFUNCTYPE if releases_gil else ctypes.PYFUNCTYPE
    function: Call = make(_TYPES[returns], *arguments)(address)
    return function


def bind(name: str, c_name: str, address: int, *, releases_gil: bool = False) -> Call:
    """Return a function that is called as pyACL's is.

    Parameters
    ----------
    name : str
        ``"acl.rt.malloc"``, for messages.
    c_name : str
    address : int
    releases_gil : bool

    Returns
    -------
    callable
        It takes what the C function reads, in order, and nothing by name. It returns the code alone, or what the
        function wrote and then the code, or what a function without a code returns.
    """
    returns, letters = _parts(c_name)
    raw = raw_function(c_name, address, releases_gil=releases_gil)
    read = [letter for letter in letters if not letter.startswith("*")]
    written = [(place, letter[1:]) for place, letter in enumerate(letters) if letter.startswith("*")]
    count, texts = len(read), "s" in read

    def checked(arguments: tuple[Any, ...]) -> list[Any]:
        """Put arguments into ctypes' form, or say which are wrong."""
        if len(arguments) != count:
            raise TypeError(f"{name} args parse failed: got {len(arguments)} arguments, expected {count}")
        return [_converted(name, letter, value) for letter, value in zip(read, arguments, strict=True)]

    def plain(*arguments: Any) -> Any:
        if len(arguments) == count and not texts:
            try:
                return raw(*arguments)
            except ctypes.ArgumentError:
                pass  # numpy's numbers are converted, others refused
        return raw(*checked(arguments))

    def named(*arguments: Any) -> str | None:
        found = raw(*checked(arguments))
        return None if found is None else found.decode("utf-8", "replace")

    def filling(*arguments: Any) -> tuple[Any, ...]:
        everything = checked(arguments)
        holders = []
        for place, letter in written:
            holder = (READERS[letter][0] if letter in READERS else _TYPES[letter])()
            everything.insert(place, ctypes.addressof(holder))
            holders.append(holder)
        code = raw(*everything)
        found = [_found(letter, holder, code) for (_, letter), holder in zip(written, holders, strict=True)]
        return (*found, code)

    def filling_one(*arguments: Any) -> tuple[Any, int]:
        if len(arguments) == count:
            holder = kind()
            try:
                code = raw(*arguments[:first], ctypes.byref(holder), *arguments[first:])
            except ctypes.ArgumentError:
                pass
            else:
                return holder.value, code
        value, code = filling(*arguments)
        return value, code

    chosen: Call = filling if written else named if returns == "s" else plain
    if len(written) == 1 and written[0][1] in _TYPES and not texts:
        # What requests are made of: malloc, get_context. A benchmark's peer must not be slow by our doing.
        [(first, letter)] = written
        kind, chosen = _TYPES[letter], filling_one
    chosen.__name__ = chosen.__qualname__ = name
    chosen.__doc__ = f"``{c_name}``, called as pyACL does."
    return chosen


def _converted(name: str, letter: str, value: Any) -> Any:
    if letter == "s":
        if not isinstance(value, str):
            raise TypeError(f"{name} args parse failed: got {type(value).__name__}, expected str")
        if "\0" in value:
            raise ValueError(f"{name} args parse failed: embedded null character")
        return value.encode("utf-8", "surrogateescape")
    if letter == "f":
        return float(value)
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name} args parse failed: got {type(value).__name__}, expected int") from None


def _found(letter: str, holder: Any, code: int) -> Any:
    if letter in READERS:
        _, read, empty = READERS[letter]
        return {} if code != 0 and empty else read(holder)
    return holder.value
