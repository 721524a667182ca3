"""Triton's statistics, as its HTTP endpoint ``/v2/models/.../stats`` gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ascend_infer.metrics.readings import DeviceReading
from ascend_infer.metrics.snapshot import BatchSizeSums, CountersSnapshot

__all__ = ["MemoryUse", "ModelStatistics", "memory_usage", "statistics"]


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes that a model holds in one place.

    Attributes
    ----------
    type : {"CPU", "CPU_PINNED", "GPU"}
        Triton's words; GPU is an NPU here.
    id : int
        The device's number; 0 for the host.
    byte_size : int
    """

    type: str
    id: int
    byte_size: int


@dataclass(frozen=True, slots=True)
class ModelStatistics:
    """One loaded model version, to be put into Triton's form."""

    name: str
    version: int | str | None
    counters: CountersSnapshot
    memory: tuple[MemoryUse, ...] = ()


def statistics(models: Iterable[ModelStatistics]) -> dict[str, Any]:
    """Put models into Triton's form, ready for ``json.dumps``.

    ``batch_stats`` counts executions, failed ones too; ``inference_stats`` counts requests, each with the whole time of
    the batch it ran in. There is no response cache and no decoupled model, so ``cache_hit``, ``cache_miss`` and
    ``response_stats`` are empty.
    """
    return {"model_stats": [_model(model) for model in models]}


def memory_usage(model: str, devices: Mapping[str, DeviceReading]) -> tuple[MemoryUse, ...]:
    """Find out of the pools' books what a model holds on devices and in pinned memory.

    Owners are called ``weights of MODEL``, or ``workspace of MODEL_0`` for its instances. Pinned memory is the host's,
    whichever device it is for, and stated once.
    """
    found: dict[tuple[str, int], int] = {}
    for name, device in devices.items():
        number = name.rpartition(":")[2]
        index = int(number) if number.isdecimal() else 0
        for kind, identity, pool in (("GPU", index, device.pool), ("CPU_PINNED", 0, device.pinned)):
            owners = () if pool is None else pool.owners
            held = sum(owner.active_bytes for owner in owners if _is_of(owner.name, model))
            if held:
                found[kind, identity] = found.get((kind, identity), 0) + held
    return tuple(MemoryUse(kind, identity, held) for (kind, identity), held in found.items())


def _is_of(owner: str, model: str) -> bool:
    whose = owner.partition(" of ")[2]
    instance = whose.removeprefix(model + "_")
    return whose == model or (instance != whose and instance.isdecimal())


def _model(model: ModelStatistics) -> dict[str, Any]:
    counted = model.counters
    request, queue, compute_input, compute_infer, compute_output = counted.sums_ns
    return {
        "name": model.name,
        "version": "1" if model.version is None else str(model.version),
        "last_inference": counted.last_inference_ms,
        "inference_count": counted.inferences,
        "execution_count": counted.executions,
        "inference_stats": {
            "success": _duration(counted.successes, request),
            "fail": _duration(counted.failed, counted.failed_ns),
            "queue": _duration(counted.successes, queue),
            "compute_input": _duration(counted.successes, compute_input),
            "compute_infer": _duration(counted.successes, compute_infer),
            "compute_output": _duration(counted.successes, compute_output),
            "cache_hit": _duration(0, 0),
            "cache_miss": _duration(0, 0),
        },
        "response_stats": {},
        "batch_stats": [_batch(batch) for batch in counted.batch_sizes],
        "memory_usage": [
            {"type": use.type, "id": use.id, "byte_size": use.byte_size} for use in model.memory
        ],
    }


def _batch(batch: BatchSizeSums) -> dict[str, Any]:
    return {
        "batch_size": batch.rows,
        "compute_input": _duration(batch.executions, batch.input_ns),
        "compute_infer": _duration(batch.executions, batch.infer_ns),
        "compute_output": _duration(batch.executions, batch.output_ns),
    }


def _duration(count: int, ns: int) -> dict[str, int]:
    return {"count": count, "ns": ns}
