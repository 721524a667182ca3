"""Errors of the memory pools."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.errors.root import AscendInferError

__all__ = ["MemoryBlockError", "PoolLimitError"]


class PoolLimitError(AscendInferError, MemoryError):
    """A memory pool of fixed size cannot serve a request.

    Attributes
    ----------
    requested, active, held, limit : int
        Bytes: asked for; in use; free in the pool (perhaps in pieces too small); the pool's bound.
    holders : tuple of (str, int)
        Who holds the most, with bytes, largest first.
    """

    def __init__(
        self,
        message: str,
        *,
        requested: int = 0,
        active: int = 0,
        held: int = 0,
        limit: int = 0,
        holders: Sequence[tuple[str, int]] = (),
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.active = active
        self.held = held
        self.limit = limit
        self.holders = tuple(holders)


class MemoryBlockError(AscendInferError, BufferError):
    """A block of a memory pool was used wrongly.

    Attributes
    ----------
    reason : str
        ``"double_free"``, ``"foreign_block"`` (of another pool, or of none), ``"overrun"`` (written past its end),
        ``"written_after_free"``, ``"no_host_memory"`` (shown as host memory and is none).
    """

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
