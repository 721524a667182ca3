"""Errors of the memory pools."""

from __future__ import annotations

from ascend_infer.errors.root import AscendInferError

__all__ = ["PoolLimitError"]


class PoolLimitError(AscendInferError, MemoryError):
    """A memory pool of fixed size cannot serve a request.

    Attributes
    ----------
    requested, active, held, limit : int
        Bytes: asked for; in use; free in the pool (perhaps in pieces too small); the pool's bound.
    """

    def __init__(
        self, message: str, *, requested: int = 0, active: int = 0, held: int = 0, limit: int = 0
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.active = active
        self.held = held
        self.limit = limit
