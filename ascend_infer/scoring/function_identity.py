"""What tells a function from another, and from itself before it was changed."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
import sys
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType
from typing import Any

import numpy as np

__all__ = ["function_identity"]

#: As long as a value is shown; of a longer one its digest is.
_SHOWN = 200
_DEEP = 8
_ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)


def function_identity(function: Callable[..., Any]) -> dict[str, Any]:
    """Return a function's name, a digest of its code, and the values that are bound to it.

    Bound are arguments of ``functools.partial``, the object of a method or of a callable one, defaults, and the numbers
    and texts of a closure. What a function reaches otherwise (globals, what it calls, a list of a closure) is not in
    it. The same in each run of the same interpreter: no addresses, no order of sets.

    Returns
    -------
    dict
        Plain values. The interpreter's version is among them where there is code, for code is different in each.
    """
    return _identity(function, _DEEP)


def _identity(function: Any, deep: int) -> dict[str, Any]:
    bound: dict[str, str] = {}
    while isinstance(function, functools.partial):
        given = {**{str(index): value for index, value in enumerate(function.args)}, **function.keywords}
        bound = {**{name: _text(value, deep) for name, value in given.items()}, **bound}
        function = function.func
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        bound["self"] = _text(owner, deep)
    plain = getattr(function, "__func__", function)
    if getattr(plain, "__qualname__", None) is None:  # an object that can be called
        bound["self"] = _text(plain, deep)
        plain = type(plain).__call__
        name = type(function).__qualname__
    else:
        name = plain.__qualname__
    found: dict[str, Any] = {"function": f"{getattr(function, '__module__', '')}.{name}"}
    code = getattr(plain, "__code__", None)
    if isinstance(code, CodeType):
        found["code"] = _code(code)
        found["python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
        bound = {**_closure(plain, code, deep), **bound}
    if bound:
        found["bound"] = bound
    return found


def _closure(function: Any, code: CodeType, deep: int) -> dict[str, str]:
    """Return defaults, and what is fixed of a closure's values: others may hold a run's state."""
    values = list(function.__defaults__ or ())
    names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    found = {**dict(zip(names, values, strict=True)), **(function.__kwdefaults__ or {})}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    fixed = (int, float, complex, str, bytes, tuple, frozenset, type(None), type(_code), functools.partial)
    return {name: _text(value, deep) for name, value in found.items() if isinstance(value, fixed)}


def _code(code: CodeType) -> str:
    """Return a digest of what code does; where it stands in a file is not in it."""
    digest = hashlib.sha256(code.co_code)
    for part in (code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags):
        digest.update(repr(part).encode("utf-8", "surrogatepass"))
    for value in code.co_consts:
        digest.update((_code(value) if isinstance(value, CodeType) else _text(value, _DEEP)).encode())
    return digest.hexdigest()[:16]


def _text(value: Any, deep: int) -> str:
    text = _whole_text(value, deep)
    shown = text.encode("utf-8", "backslashreplace").decode()
    if len(shown) <= _SHOWN:
        return shown
    return f"{shown[:40]}... sha256 {hashlib.sha256(shown.encode()).hexdigest()[:16]}"


def _whole_text(value: Any, deep: int) -> str:
    kind = type(value)
    if deep == 0:
        return kind.__qualname__
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
        return f"array {value.dtype} {value.shape} {data}"
    if kind in (set, frozenset):
        return f"{kind.__name__} {sorted(_text(item, deep - 1) for item in value)}"
    if kind in (list, tuple):
        return f"{kind.__name__} {[_text(item, deep - 1) for item in value]}"
    if isinstance(value, Mapping):
        return f"{kind.__name__} {[(_text(key, deep - 1), _text(item, deep - 1)) for key, item in value.items()]}"
    if isinstance(value, ModuleType | type):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    if isinstance(value, functools.partial) or getattr(value, "__qualname__", None) is not None:
        return repr(_identity(value, deep - 1))
    if dataclasses.is_dataclass(value):
        fields = [(item.name, getattr(value, item.name, None)) for item in dataclasses.fields(value)]
        return f"{kind.__qualname__} {[(name, _text(item, deep - 1)) for name, item in fields]}"
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception:  # somebody else's: any
        return kind.__qualname__
