"""Errors about a model: not found, not loadable, failing."""

from __future__ import annotations

from ascend_infer.errors.root import AscendInferError

__all__ = [
    "ModelError",
    "ModelExecutionError",
    "ModelFileError",
    "ModelLoadError",
    "ModelNotFoundError",
]


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
