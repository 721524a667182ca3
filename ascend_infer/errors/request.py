"""Errors about one request; the session goes on."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.errors.root import AscendInferError

__all__ = [
    "DeadlineExceededError",
    "InstanceUnavailableError",
    "InvalidInputError",
    "NoGearError",
    "QueueFullError",
    "RequestCancelledError",
    "RequestError",
]


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


class NoGearError(InvalidInputError):
    """No compiled size of the model takes this request, padded as far as its configuration allows.

    Attributes
    ----------
    size : tuple of int
        What was asked for, in the gears' own terms: ``(batch,)``, ``(height, width)``, or the values of the
        dynamic dimensions.
    gears : tuple of tuple of int
        The nearest sizes the model has, nearest first.
    """

    def __init__(
        self,
        message: str,
        *,
        size: Sequence[int] = (),
        gears: Sequence[Sequence[int]] = (),
        input: str | None = None,
        expected: str = "",
        got: str = "",
    ) -> None:
        super().__init__(message, input=input, expected=expected, got=got)
        self.size = tuple(size)
        self.gears = tuple(tuple(gear) for gear in gears)


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


class QueueFullError(RequestError):
    """As many requests wait as the model's queue policy allows (``max_queue_size``).

    Attributes
    ----------
    depth : int
        Requests that waited in the request's priority level.
    """

    def __init__(self, message: str, *, depth: int = 0) -> None:
        super().__init__(message)
        self.depth = depth


class InstanceUnavailableError(RequestError):
    """All instances of the model are out of service.

    Attributes
    ----------
    model : str
    """

    def __init__(self, message: str, *, model: str = "") -> None:
        super().__init__(message)
        self.model = model
