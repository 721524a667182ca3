"""Models' sizes for tests of gear choice, written out."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.gears import CompiledSize, ModelSizes, SizedInput, SizedOutput
from ascend_infer.types import DataType, Gear

__all__ = ["batch_gears", "static_batch", "text_gears", "width_gears"]


def batch_gears(batches: Sequence[int], features: int = 3) -> ModelSizes:
    """Return a model x (n, features) -> y (n, 2) with batch gears."""
    return ModelSizes(
        "batch",
        (SizedInput("x", DataType.FP32, (-1, features)),),
        (SizedOutput("node:0:y", "y"),),
        tuple(CompiledSize(Gear("batch", (n,)), ((n, features),), ((n, 2),)) for n in batches),
        batched=True,
        order=((0, 0),),
    )


def static_batch(batch: int, *, batched: bool = True, output: tuple[int, ...] | None = None) -> ModelSizes:
    """Return a model x (batch, 3) -> y (batch, 2) of one size."""
    return ModelSizes(
        "static",
        (SizedInput("x", DataType.FP32, (batch, 3)),),
        (SizedOutput("y"),),
        (CompiledSize(None, ((batch, 3),), (output or (batch, 2),)),),
        batched=batched,
    )


def width_gears(sizes: Sequence[tuple[int, int]], *, stride: int = 1, known: bool = True) -> ModelSizes:
    """Return a text recogniser x (n, 3, 4, w) -> p (n, w / stride, 5) with dims gears (n, w)."""
    return ModelSizes(
        "dims",
        (SizedInput("x", DataType.FP32, (-1, 3, 4, -1)),),
        (SizedOutput("p"),),
        tuple(
            CompiledSize(Gear("dims", (n, w)), ((n, 3, 4, w),), ((n, w // stride, 5),) if known else None)
            for n, w in sizes
        ),
        batched=True,
        order=((0, 0), (0, 3)),
    )


def text_gears(lengths: Sequence[int]) -> ModelSizes:
    """Return an encoder ids, mask (1, s) -> states (1, s, 4), pooled (1, 4) with dims gears."""
    return ModelSizes(
        "dims",
        (SizedInput("ids", DataType.INT64, (1, -1)), SizedInput("mask", DataType.INT64, (1, -1))),
        (SizedOutput("states"), SizedOutput("pooled")),
        tuple(CompiledSize(Gear("dims", (s, s)), ((1, s), (1, s)), ((1, s, 4), (1, 4))) for s in lengths),
        order=((0, 1), (1, 1)),
    )
