"""A module of pyACL's names over one ACL library."""

from __future__ import annotations

import ctypes
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ascend_infer.compat.acl import interop, threads
from ascend_infer.compat.acl.binding import Call, bind, raw_function
from ascend_infer.compat.acl.composed import COMPOSED
from ascend_infer.compat.acl.library import open_library
from ascend_infer.compat.acl.names import C_NAMES, RELEASES_GIL, TABLES
from ascend_infer.errors import SymbolNotFoundError

if TYPE_CHECKING:
    from ascend_infer._native import AclLibrary

__all__ = ["Face", "Part", "face_of"]


class Part(ModuleType):
    """``acl``, ``acl.rt`` or ``acl.mdl``: each function is bound when it is first asked for."""

    def __init__(self, name: str, library: AclLibrary) -> None:
        super().__init__(name, f"pyACL's {name} over {library.path}.")
        self._library = library

    def __getattr__(self, name: str) -> Any:
        # The import system asks for names like __path__, and mocks for others.
        if name not in TABLES[self.__name__][1]:
            raise AttributeError(
                f"{self.__name__}.{name} is not among the functions of ascend_infer.compat.acl"
            )
        function = _bound(f"{self.__name__}.{name}", self._library)
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *TABLES[self.__name__][1]})


class Face(Part):
    """``acl``, with its submodules.

    Attributes
    ----------
    rt, mdl, util : module
    """

    def __init__(self, library: AclLibrary) -> None:
        super().__init__("acl", library)
        self.rt = Part("acl.rt", library)
        self.mdl = Part("acl.mdl", library)
        self.util = ModuleType("acl.util", "Addresses of bytes and arrays; threads for callbacks.")
        for module in (interop, threads):
            for name in module.__all__:
                setattr(self.util, name, getattr(module, name))

    def modules(self) -> dict[str, ModuleType]:
        """Return the modules by their names in ``sys.modules``."""
        return {module.__name__: module for module in (self, self.rt, self.mdl, self.util)}


@cache
def face_of(libraries: tuple[str, ...]) -> Face:
    """Return the one face of a library; loads it the first time.

    Raises
    ------
    LibraryError
        It cannot be loaded.
    """
    return Face(open_library(libraries))


def _bound(name: str, library: AclLibrary) -> Call:
    c_name = C_NAMES[name]
    address = library.address(c_name)
    if address == 0:
        since = next(since for known, _, since, _ in library.symbols if known == c_name)
        raise SymbolNotFoundError(
            f"{name}: {library.path} has no {c_name}, which CANN has from {since} on",
            symbol=c_name,
            since=since,
            library=library.path,
        )
    if name in COMPOSED:
        return COMPOSED[name](_guarded(name, raw_function(c_name, address)))
    return bind(name, c_name, address, releases_gil=name in RELEASES_GIL)


def _guarded(name: str, raw: Call) -> Call:
    def call(*arguments: Any) -> Any:
        try:
            return raw(*arguments)
        except ctypes.ArgumentError as error:
            raise TypeError(f"{name} args parse failed: {error}") from None

    return call
