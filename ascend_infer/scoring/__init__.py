"""A model over a whole data set: read, infer and write at the same time, with bounded memory, safe against crashes.

``Session.score`` and ``ascend-infer score`` are the doors; :func:`score` takes several sessions at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_infer.scoring.entrance import score
    from ascend_infer.scoring.rows import ScoredRow
    from ascend_infer.scoring.summary import Summary

__all__ = ["ScoredRow", "Summary", "score"]

_PLACES = {"ScoredRow": "rows", "Summary": "summary", "score": "entrance"}


def __getattr__(name: str) -> object:
    # Session names this package at its import, which has to stay light.
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
