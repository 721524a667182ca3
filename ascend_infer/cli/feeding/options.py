"""The options of a command line that say what a model is fed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["FeedOptions"]


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """What the command line says about inputs; see ``ascend-infer infer --help``."""

    inputs: Sequence[str] = ()
    shapes: Sequence[str] = ()
    preset: str | None = None
    size: str | None = None
    max_pixels: int | None = None
    fill: Literal["zeros", "random"] | None = None
    seed: int | None = None
