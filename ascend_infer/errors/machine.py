"""Errors in what the machine has: packages, devices, libraries and their functions."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.errors.root import AscendInferError

__all__ = [
    "DeviceNotFoundError",
    "LibraryError",
    "LibraryNotFoundError",
    "LibraryVersionError",
    "MissingDependencyError",
    "SymbolNotFoundError",
]


class MissingDependencyError(AscendInferError, ImportError):
    """An optional package is needed and not installed.

    Attributes
    ----------
    package : str
    """

    def __init__(self, message: str, *, package: str) -> None:
        super().__init__(message)
        self.package = package


class DeviceNotFoundError(AscendInferError, OSError):
    """The device asked for is not there; the text lists what was looked for and where.

    Attributes
    ----------
    device : str
    tried : tuple of (str, str)
        Each place that was searched and why it did not do.
    """

    def __init__(self, message: str, *, device: str, tried: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.device = device
        self.tried = tuple(tried)


class LibraryError(AscendInferError, OSError):
    """Something about a shared library of CANN: not there, not usable, too old.

    Attributes
    ----------
    library : str or None
        Its path or soname.
    """

    def __init__(self, message: str, *, library: str | None = None) -> None:
        super().__init__(message)
        self.library = library


class LibraryNotFoundError(LibraryError):
    """No library could be loaded; the text lists every place and why it did not do.

    Attributes
    ----------
    library : str or None
    tried : tuple of (str, str, str)
        The search's steps in order: the step's name, the path, the reason.
    """

    def __init__(
        self, message: str, *, library: str | None = None, tried: Sequence[tuple[str, str, str]] = ()
    ) -> None:
        super().__init__(message, library=library)
        self.tried = tuple(tried)


class LibraryVersionError(LibraryError):
    """A library was found and its version does not do.

    Attributes
    ----------
    library : str or None
    found, wanted : str
    """

    def __init__(
        self, message: str, *, library: str | None = None, found: str = "", wanted: str = ""
    ) -> None:
        super().__init__(message, library=library)
        self.found = found
        self.wanted = wanted


class SymbolNotFoundError(LibraryError):
    """The loaded library does not have a function that this call needs.

    Attributes
    ----------
    library : str or None
    symbol : str
    since : str or None
        The first CANN release known to have it.
    version : str or None
        Of the library that was loaded.
    """

    def __init__(
        self,
        message: str,
        *,
        symbol: str,
        library: str | None = None,
        since: str | None = None,
        version: str | None = None,
    ) -> None:
        super().__init__(message, library=library)
        self.symbol = symbol
        self.since = since
        self.version = version
