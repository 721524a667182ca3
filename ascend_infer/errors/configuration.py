"""Errors in what a user wrote or passed: a configuration, an option, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ascend_infer.errors.root import AscendInferError

if TYPE_CHECKING:
    from ascend_infer.diagnostic import Diagnostic

__all__ = ["ConfigError", "ImageError", "InvalidOptionError"]


class ConfigError(AscendInferError, ValueError):
    """A model configuration that cannot be used.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
        Everything found, in the file's order; at least one is an error.
    file, line, column, field : str or int or None
        Of the first error.
    """

    def __init__(self, message: str, *, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)
        first = next((d for d in self.diagnostics if d.severity == "error"), None)
        self.file = first.file if first else None
        self.line = first.line if first else None
        self.column = first.column if first else None
        self.field = first.field if first else None


class InvalidOptionError(AscendInferError, ValueError):
    """An argument of our own API has a value that it cannot have.

    Attributes
    ----------
    option : str
    got : object
        Its repr when it is no plain value.
    """

    def __init__(self, message: str, *, option: str, got: object = None) -> None:
        super().__init__(message)
        self.option = option
        self.got = got if isinstance(got, str | int | float | bool | None) else repr(got)


class ImageError(AscendInferError, ValueError):
    """A picture that cannot be read or used.

    Attributes
    ----------
    source : str
        The path, or what the bytes or object were.
    """

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__(message)
        self.source = source
