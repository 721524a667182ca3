"""Every exception and warning this library raises on purpose.

Errors carry data besides the text: the fields named in each class are attributes, and pickling keeps them.
Where Python has a kind of its own (``ValueError``, ``LookupError``, ``TimeoutError``), the class is that too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ascend_infer.diagnostic import Diagnostic

__all__ = [
    "AscendInferError",
    "ClosedError",
    "ConfigError",
    "CopyError",
    "DeadlineExceededError",
    "DeviceNotFoundError",
    "ForkError",
    "ImageError",
    "InvalidInputError",
    "InvalidOptionError",
    "MissingDependencyError",
    "ModelError",
    "ModelExecutionError",
    "ModelFileError",
    "ModelLoadError",
    "ModelNotFoundError",
    "RequestCancelledError",
    "RequestError",
    "UnclosedResourceWarning",
]


def _restore(cls: type[AscendInferError], args: tuple[Any, ...], state: dict[str, Any]) -> AscendInferError:
    error = cls.__new__(cls, *args)
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


class ModelError(AscendInferError):
    """Something about a model: not found, not loadable, failing."""


class ModelNotFoundError(ModelError, LookupError):
    """No model, or no such version of it, at this path.

    Attributes
    ----------
    path : str
    """

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class ModelLoadError(ModelError):
    """The model was found and cannot be loaded.

    Attributes
    ----------
    path : str or None
    """

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class ModelFileError(ModelLoadError):
    """A model file that is damaged, of another kind, or not a model at all.

    Attributes
    ----------
    path : str or None
    reason : str
        One sentence without the path.
    offset : int or None
        Bytes from the file's beginning at which it went wrong.
    """

    def __init__(
        self, message: str, *, path: str | None = None, reason: str = "", offset: int | None = None
    ) -> None:
        super().__init__(message, path=path)
        self.reason = reason or message
        self.offset = offset


class ModelExecutionError(ModelError, RuntimeError):
    """The model itself failed while it ran; other requests are not affected.

    Attributes
    ----------
    model : str
    """

    def __init__(self, message: str, *, model: str) -> None:
        super().__init__(message)
        self.model = model


class RequestError(AscendInferError):
    """Something about one request; the session goes on."""


class InvalidInputError(RequestError, ValueError):
    """An input (or a requested output, or an ``out`` array) does not fit the model.

    Attributes
    ----------
    input : str or None
        The tensor's name, None when the request as a whole is wrong.
    expected, got : str
    """

    def __init__(self, message: str, *, input: str | None = None, expected: str = "", got: str = "") -> None:
        super().__init__(message)
        self.input = input
        self.expected = expected
        self.got = got


class DeadlineExceededError(RequestError, TimeoutError):
    """The request's timeout passed before its result was there.

    Attributes
    ----------
    timeout : float or None
        Seconds the request was given.
    """

    def __init__(self, message: str, *, timeout: float | None = None) -> None:
        super().__init__(message)
        self.timeout = timeout


class RequestCancelledError(RequestError):
    """The request was cancelled before its result was there."""


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


class ClosedError(AscendInferError, RuntimeError):
    """Use after ``close()``."""


class ForkError(AscendInferError, RuntimeError):
    """Use, in a forked child, of something its parent opened."""


class CopyError(AscendInferError, TypeError):
    """A live object that cannot be copied or pickled."""


class UnclosedResourceWarning(ResourceWarning):
    """Something was dropped without ``close()``; it is being closed now."""
