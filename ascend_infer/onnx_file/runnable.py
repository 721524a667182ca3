"""Which .onnx models onnxruntime can be given arrays for: asked before one is loaded, and without loading one."""

from __future__ import annotations

from pathlib import Path

from ascend_infer.onnx_file.reader import OnnxFile
from ascend_infer.types import DataType

__all__ = ["NARROW_TYPES", "why_not_runnable"]

#: numpy (with ml_dtypes) cannot hold what onnxruntime gives for these, or onnxruntime has no kernel for any.
_UNUSABLE = frozenset({DataType.COMPLEX64, DataType.COMPLEX128, DataType.INT4})

#: Passed to onnxruntime by their bits, through a binding, which cannot hold text.
NARROW_TYPES = frozenset({DataType.BF16, DataType.FP8_E5M2, DataType.FP8_E4M3FN})


def why_not_runnable(file: OnnxFile, folder: Path) -> str | None:
    """Return why a model cannot run, in a sentence about it; None when nothing in its description says so.

    Parameters
    ----------
    file : OnnxFile
    folder : Path
        Where it lies, and its external weights beside it.
    """
    for name, kind in file.other_inputs.items():
        return f"input {name!r} is a {kind}, which cannot be given to a model here"
    tensors = (*file.spec.inputs, *file.spec.outputs)
    for tensor in tensors:
        if tensor.dtype in _UNUSABLE:
            return f"tensor {tensor.name!r} is {tensor.dtype}, which onnxruntime cannot run"
    narrow = {tensor.dtype for tensor in tensors} & NARROW_TYPES
    if narrow and any(tensor.dtype is DataType.BYTES for tensor in tensors):
        listed = ", ".join(sorted(map(str, narrow)))
        return f"text and {listed} tensors in one model cannot be passed to onnxruntime"
    if not file.spec.outputs:
        found = ", ".join(f"{name!r} is a {kind}" for name, kind in file.spec.not_tensors.items())
        return f"no output is a tensor: {found} (scikit-learn converters give tensors with the option zipmap=False)"
    missing = [name for name in file.external_data if not (folder / name).is_file()]
    if missing:
        return f"its weights are in {missing[0]!r} beside it, and that file is not there"
    return None
