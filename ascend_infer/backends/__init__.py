"""How a batch runs: one module per runtime, chosen by name and never by fallback."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from ascend_infer.backends.base import Backend
from ascend_infer.errors import InvalidOptionError

__all__ = ["BACKENDS", "create"]

#: Name of each backend and the module that holds it; the module offers a class ``Backend``.
BACKENDS = {
    "acl": "ascend_infer.backends.acl",
    "onnx": "ascend_infer.backends.onnx",
    "pyacl": "ascend_infer.backends.pyacl",
}


def create(name: str) -> Backend:
    """Return the backend of this name; what it runs on is looked for with the first model.

    Raises
    ------
    InvalidOptionError
        No backend has this name.
    """
    if name not in BACKENDS:
        close = get_close_matches(name, BACKENDS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InvalidOptionError(
            f"no backend is called {name!r}; there are: {', '.join(sorted(BACKENDS))}{hint}",
            option="backend",
            got=name,
        )
    backend: Backend = import_module(BACKENDS[name]).Backend()
    return backend
