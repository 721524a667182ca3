"""Reading Ascend's .om model files in plain Python, and writing those that the simulator runs.

    from ascend_infer import om

    model = om.read("model.om")
    model.inputs, model.gears, model.soc_version, model.spec()

Needs no CANN, no NPU and no protobuf package, reads no weights and imports nothing that touches a device.
docs/om.md says which files are read, described or refused.
"""

from typing import TYPE_CHECKING, Any

from ascend_infer.om.aipp import OmAipp
from ascend_infer.om.gears import OmGear
from ascend_infer.om.header import OmHeader
from ascend_infer.om.inout import InOutInfo, TensorInfo
from ascend_infer.om.model import OmModel, OmPart, OmTensor
from ascend_infer.om.partitions import OmPartition
from ascend_infer.om.reader import read, read_bytes, simulator_onnx

if TYPE_CHECKING:
    from ascend_infer.om.writer import write_simulator_model

__all__ = [
    "InOutInfo",
    "OmAipp",
    "OmGear",
    "OmHeader",
    "OmModel",
    "OmPart",
    "OmPartition",
    "OmTensor",
    "TensorInfo",
    "read",
    "read_bytes",
    "simulator_onnx",
    "write_simulator_model",
]


def __getattr__(name: str) -> Any:
    # Most programs only read: the writer is imported at its first use.
    if name == "write_simulator_model":
        from ascend_infer.om.writer import write_simulator_model

        return write_simulator_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
