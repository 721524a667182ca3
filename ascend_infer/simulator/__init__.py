"""A simulated NPU: the AscendCL C library on the CPU, for programs and tests that have no card.

    from ascend_infer.simulator import Simulator, SimulatorOptions

    with Simulator(SimulatorOptions(devices=2, faults="aclrtMalloc@3=207001")) as simulator:
        ...                                   # anything that uses ACL through simulator.library
        simulator.stats().violations          # what a card would have punished

``ascend-infer simulate`` does the same for programs from outside; docs/simulator.md says what is simulated.
Importing this loads no library.
"""

from typing import TYPE_CHECKING, Any

from ascend_infer.simulator.library import library_path, onnxruntime_path
from ascend_infer.simulator.options import SimulatorOptions, TimeModel
from ascend_infer.simulator.stats import DeviceStats, SimulatorStats

if TYPE_CHECKING:
    from ascend_infer.simulator.compiler import compile_model
    from ascend_infer.simulator.control import Simulator
    from ascend_infer.simulator.description import describe_model
    from ascend_infer.simulator.program import program_environment

__all__ = [
    "DeviceStats",
    "Simulator",
    "SimulatorOptions",
    "SimulatorStats",
    "TimeModel",
    "compile_model",
    "describe_model",
    "library_path",
    "onnxruntime_path",
    "program_environment",
]

_LATER = {
    "Simulator": "control",
    "compile_model": "compiler",
    "describe_model": "description",
    "program_environment": "program",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f"ascend_infer.simulator.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
