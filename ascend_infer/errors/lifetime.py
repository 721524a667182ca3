"""Use of an object when or how it cannot be used: closed, forked, copied, dropped."""

from __future__ import annotations

from ascend_infer.errors.root import AscendInferError

__all__ = [
    "ClosedError",
    "CopyError",
    "ForkError",
    "UnclosedResourceWarning",
]


class ClosedError(AscendInferError, RuntimeError):
    """Use after ``close()``."""


class ForkError(AscendInferError, RuntimeError):
    """Use, in a forked child, of something its parent opened."""


class CopyError(AscendInferError, TypeError):
    """A live object that cannot be copied or pickled."""


class UnclosedResourceWarning(ResourceWarning):
    """Something was dropped without ``close()``; it is being closed now."""
