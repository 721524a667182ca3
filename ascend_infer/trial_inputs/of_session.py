"""What a session's model says of the inputs that may be made up for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ascend_infer.errors import ModelError
from ascend_infer.model_source import find_source
from ascend_infer.onnx_file import ValueLimit, input_limits

if TYPE_CHECKING:
    from ascend_infer.session import Session

__all__ = ["has_batch", "limits_of", "onnx_file_of"]


def onnx_file_of(session: Session) -> Path | None:
    """Return the .onnx file that a session runs, or the one beside the .om that it runs; None where there is none."""
    try:
        return find_source(session._options, on_cpu=True).file
    except ModelError:
        return None  # an .om without a twin


def limits_of(session: Session) -> dict[str, ValueLimit]:
    """Return the values that inputs may have, by the session's names of them, as far as the ONNX file shows."""
    file = onnx_file_of(session)
    if file is None:
        return {}
    found = input_limits(file)
    renamed = {rule.model_name: rule.name for rule in session._opened().signature.rules.values()}
    return {renamed.get(name, name): limit for name, limit in found.items()}


def has_batch(session: Session) -> bool:
    """Return whether the first dimension of every input is a batch of any size."""
    if session.config.max_batch_size > 0:
        return True
    return bool(session.inputs) and all(tensor.shape[:1] == (-1,) for tensor in session.inputs)
