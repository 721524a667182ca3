"""What a model file says about batching, and whether max_batch_size agrees with it."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.shape_check import UNKNOWN_RANK
from ascend_infer.types import ModelSpec, TensorSpec

__all__ = ["DEFAULT_MAX_BATCH_SIZE", "Batching", "batching_of", "check_batch_size"]

# Triton's default-max-batch-size for a model that can batch and whose configuration says nothing of it.
DEFAULT_MAX_BATCH_SIZE = 4


@dataclass(frozen=True, slots=True)
class Batching:
    """How a model takes batches.

    Attributes
    ----------
    variable : bool
        Every input and output has -1 as its first dimension (or, with batch gears, one of the gears).
    fixed : int or None
        The first dimension that all inputs and outputs share, when it is a number.
    gears : tuple of int
        The batch sizes a .om was compiled for, ascending; empty when it has no batch gears.
    """

    variable: bool
    fixed: int | None
    gears: tuple[int, ...]

    @property
    def largest(self) -> int:
        """The max_batch_size of a configuration that says nothing; 0 when the model cannot batch."""
        if not self.variable:
            return 0
        return self.gears[-1] if self.gears else DEFAULT_MAX_BATCH_SIZE


def batching_of(spec: ModelSpec) -> Batching:
    """Read off a model's signature how it can be batched."""
    gears = tuple(sorted({gear.values[0] for gear in spec.gears if gear.kind == "batch" and gear.values}))
    tensors = [tensor for tensor in (*spec.inputs, *spec.outputs) if tensor.shape != UNKNOWN_RANK]
    firsts = {tensor.shape[0] if tensor.shape else None for tensor in tensors}
    known = bool(spec.inputs) and bool(spec.outputs)
    # Old .om files declare their outputs for the largest gear only.
    variable = known and firsts <= {-1, *gears} and -1 in firsts
    only = next(iter(firsts)) if len(firsts) == 1 else None
    fixed = only if known and only is not None and only > 0 else None
    return Batching(variable, fixed, gears)


def check_batch_size(config: ModelConfig, spec: ModelSpec, batching: Batching, findings: Findings) -> None:
    """Check a stated max_batch_size, and the preferred sizes, against the model."""
    largest = config.max_batch_size
    if largest <= 0:
        return
    if not batching.variable:
        _check_fixed(largest, spec, batching, findings)
        return
    if not batching.gears:
        return
    shown = ", ".join(map(str, batching.gears))
    if largest > batching.gears[-1]:
        findings.warning(
            "max_batch_size",
            "max_batch_size exceeds the model's largest gear; larger batches are split",
            got=largest,
            expected=f"at most {batching.gears[-1]} (gears {shown})",
        )
    sizes = config.dynamic_batching.preferred_batch_size if config.dynamic_batching is not None else ()
    for index, size in enumerate(sizes):
        path = f"dynamic_batching.preferred_batch_size[{index}]"
        # A lone preferred size equal to max_batch_size may be the default rather than a wish.
        wished = path in findings.positions or sizes != (largest,)
        if size not in batching.gears and wished:
            findings.warning(
                path,
                f"preferred batch size {size} is none of the model's gears; such a batch is padded",
                got=size,
                expected=f"one of {shown}",
            )


def _check_fixed(largest: int, spec: ModelSpec, batching: Batching, findings: Findings) -> None:
    fixed = batching.fixed
    if fixed is not None and spec.format == "om":
        if largest > fixed:
            findings.warning(
                "max_batch_size",
                f"the model is compiled for batch {fixed}; larger batches are split",
                got=largest,
                expected=f"at most {fixed}",
                hint=f"write max_batch_size: {fixed}, or compile the model with batch gears",
            )
        return
    if fixed is not None:
        findings.error(
            "max_batch_size",
            "model does not support batching while non-zero max_batch_size is specified: "
            f"the model is compiled for batch {fixed}, its first dimension is fixed",
            got=largest,
            expected="0",
            hint=f"write max_batch_size: 0 and dims with the batch ({fixed} first), or export the model with "
            "a dynamic first dimension",
        )
        return
    culprits = [tensor for tensor in (*spec.inputs, *spec.outputs) if not _batched(tensor)]
    shown = "; ".join(str(tensor) for tensor in culprits[:4])
    findings.error(
        "max_batch_size",
        "model does not support batching while non-zero max_batch_size is specified",
        got=largest,
        expected=f"0, because the first dimension is not -1 of {shown or 'any tensor'}",
        hint="write max_batch_size: 0 and complete dims",
    )


def _batched(tensor: TensorSpec) -> bool:
    return bool(tensor.shape) and tensor.shape[0] == -1
