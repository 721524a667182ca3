"""Run trained models on Huawei Ascend NPUs, or without one, in your own process.

Importing this touches no device, loads no extension and starts no thread; what needs more is imported at
its first use.

PYTEST_DONT_REWRITE: pytest rewrites what comes with a plugin, and warns where that was imported before it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ascend_infer._version import __version__

if TYPE_CHECKING:
    from ascend_infer import config, errors, image, metrics, om
    from ascend_infer.device_pointer import DevicePointer
    from ascend_infer.errors import AscendInferError
    from ascend_infer.memory_pool import MemoryPool
    from ascend_infer.result import InferResult, Timing
    from ascend_infer.scheduling.batching import Batching, QueuePolicy
    from ascend_infer.session import Session
    from ascend_infer.types import DataType, Gear, ModelSpec, TensorSpec

__all__ = [
    "AscendInferError",
    "Batching",
    "DataType",
    "DevicePointer",
    "Gear",
    "InferResult",
    "MemoryPool",
    "ModelSpec",
    "QueuePolicy",
    "Session",
    "TensorSpec",
    "Timing",
    "__version__",
    "config",
    "errors",
    "image",
    "metrics",
    "om",
]

#: Where each public name lives; None for a subpackage.
_PLACES = {
    "AscendInferError": "errors",
    "Batching": "scheduling.batching",
    "DataType": "types",
    "DevicePointer": "device_pointer",
    "Gear": "types",
    "InferResult": "result",
    "MemoryPool": "memory_pool",
    "ModelSpec": "types",
    "QueuePolicy": "scheduling.batching",
    "Session": "session",
    "TensorSpec": "types",
    "Timing": "result",
    "config": None,
    "errors": None,
    "image": None,
    "metrics": None,
    "om": None,
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = _PLACES[name]
    if place is None:
        return import_module(f"{__name__}.{name}")
    value: object = getattr(import_module(f"{__name__}.{place}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
