"""Comparing the shape a configuration states with the one a model declares, and explaining the difference."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.config.findings import Findings
from ascend_infer.config.tensor_config import ModelInput, ModelOutput

__all__ = ["UNKNOWN_RANK", "check_shape"]

# What the .om reader gives for a tensor of which the file does not even say the rank.
UNKNOWN_RANK = (-2,)


def _agrees(stated: Sequence[int], declared: Sequence[int]) -> bool:
    return len(stated) == len(declared) and all(
        one == other or -1 in (one, other) for one, other in zip(stated, declared, strict=True)
    )


def check_shape(
    tensor: ModelInput | ModelOutput,
    declared: tuple[int, ...],
    max_batch_size: int,
    path: str,
    label: str,
    findings: Findings,
) -> bool:
    """Check ``dims`` (or ``reshape``, where there is one) against the model's whole shape.

    Returns
    -------
    bool
        True when the configuration leaves a dimension open that the model fixes: allowed, the model's number
        then is no promise.
    """
    if declared == UNKNOWN_RANK:
        return False
    inner = tensor.reshape.shape if tensor.reshape is not None else tensor.dims
    batch = max_batch_size > 0
    whole = (-1, *inner) if batch else tuple(inner)
    # Whether the first dimension can be a batch at all is checked for the model, not for each tensor.
    compared = (-1, *declared[1:]) if batch and declared else declared
    if _agrees(whole, compared):
        return any(one == -1 and other > 0 for one, other in zip(whole, compared, strict=True))
    _explain(tensor, inner, whole, declared, max_batch_size, path, label, findings)
    return False


def _explain(
    tensor: ModelInput | ModelOutput,
    inner: tuple[int, ...],
    whole: tuple[int, ...],
    declared: tuple[int, ...],
    max_batch_size: int,
    path: str,
    label: str,
    findings: Findings,
) -> None:
    batch = max_batch_size > 0
    place = f"{path}.dims" if tensor.reshape is None else f"{path}.reshape.shape"
    word = "dims" if tensor.reshape is None else "reshape"
    shape = list(declared)
    reading = (
        f"an initial batch dimension because max_batch_size is {max_batch_size}, followed by the {word} "
        f"{list(inner)}, making complete shape {list(whole)}"
        if batch
        else f"the {word} {list(inner)} as the complete shape, because max_batch_size is 0"
    )
    hint = None
    if batch and _agrees(inner, declared):
        hint = (
            f"the {word} include the batch dimension, which max_batch_size adds: "
            f"write dims: {shape[1:]}, or max_batch_size: 0 to keep {list(inner)}"
        )
    elif not batch and declared and _agrees(inner, declared[1:]):
        complete = f"write dims: {[declared[0], *inner]}"
        hint = f"the batch dimension is missing: {complete}"
        if declared[0] == -1:
            hint += ", or set max_batch_size to the largest batch and leave dims as they are"
    elif batch and declared and len(inner) == len(declared) - 1:
        hint = f"write dims: {shape[1:]}"
    elif not batch and len(inner) == len(declared):
        hint = f"write dims: {shape}"
    if len(whole) != len(declared):
        message = (
            f"{label}: the model expects {len(declared)} dimensions (shape {shape}) but the configuration "
            f"specifies {len(whole)} dimensions ({reading})"
        )
    else:
        message = (
            f"{label}: the model expects shape {shape} but the configuration specifies shape {list(whole)} "
            f"({reading})"
        )
    findings.error(place, message, got=list(whole), expected=str(shape), hint=hint)
