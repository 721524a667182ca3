"""The class that every exception of this library is."""

from __future__ import annotations

from typing import Any

__all__ = ["AscendInferError"]


def _restore(cls: type[AscendInferError], args: tuple[Any, ...], state: dict[str, Any]) -> AscendInferError:
    # With two of Python's own kinds among its bases, a class may find the __new__ of the one that it is not
    # laid out as, which refuses; its chain of __base__ leads to the right one.
    kind: type[Any] = cls
    while kind.__module__ != "builtins":
        kind = kind.__base__ or Exception
    error: AscendInferError = kind.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class AscendInferError(Exception):
    """Root of the tree: ``except AscendInferError`` catches whatever this library raises on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(message)

    @property
    def message(self) -> str:
        """The whole text, without notes."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, dict(self.__dict__))
