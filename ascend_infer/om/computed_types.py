"""The data types that the simulated card computes with."""

from __future__ import annotations

from ascend_infer.errors import ModelFileError
from ascend_infer.types import DataType, ModelSpec

__all__ = ["COMPUTED", "check_types"]

#: Those that the library can hand to onnxruntime: ``onnx_type`` of _ext/sim/dtypes.cpp.
COMPUTED = (
    DataType.BOOL,
    *(DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64),
    *(DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64),
    *(DataType.FP16, DataType.FP32, DataType.FP64, DataType.BF16),
)


def check_types(shown: str, path: str, spec: ModelSpec) -> None:
    """Refuse a model with tensors that no run could read or write.

    Parameters
    ----------
    shown : str
        The model, for the message.
    path : str
        Its file.
    spec : ModelSpec

    Raises
    ------
    ModelFileError
        An input or output is of another type than :data:`COMPUTED`.
    """
    for role, tensors in (("input", spec.inputs), ("output", spec.outputs)):
        for tensor in tensors:
            if tensor.dtype not in COMPUTED:
                raise ModelFileError(
                    f"{shown}: {role} {tensor.name!r} is {_type(tensor.dtype)}, which the simulator does not compute; "
                    f'expected one of {", ".join(map(str, COMPUTED))}; run the model with device="cpu"',
                    path=path,
                    reason=f"{tensor.dtype} on the simulator",
                )


def _type(dtype: DataType) -> str:
    return "text (BYTES)" if dtype is DataType.BYTES else str(dtype)
