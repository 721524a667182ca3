"""The private end of a simulator model's file: parameters and ONNX model. docs/om.md has the layout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ascend_infer.om.damage import DamagedError, file_error
from ascend_infer.om.header import SIMULATOR_MARK, OmHeader
from ascend_infer.om.partitions import OmPartition, read_table
from ascend_infer.om.source import Source

__all__ = ["CONTAINER_VERSION", "ONNX_PARTITION", "PARAMETERS_PARTITION", "Simulated", "read_simulated"]

CONTAINER_VERSION = 1
ONNX_PARTITION = 0x53494D31
PARAMETERS_PARTITION = 0x53494D4A
_MAX_PARAMETERS = 16 << 20


@dataclass(frozen=True, slots=True)
class Simulated:
    """What the private partitions say: ONNX as (offset, length), the parameters, where the file ends."""

    onnx: tuple[int, int]
    parameters: Mapping[str, Any]
    end: int

    @property
    def name(self) -> str:
        """The model's whole name."""
        return str(self.parameters.get("name", ""))

    @property
    def work_size(self) -> int:
        """Bytes of work memory."""
        return _size(self.parameters, "work_size")

    @property
    def weight_size(self) -> int:
        """Bytes of weights."""
        return _size(self.parameters, "weight_size")


def _size(parameters: Mapping[str, Any], key: str) -> int:
    value = parameters.get(key, 0)
    return value if isinstance(value, int) and 0 <= value < 1 << 63 else 0


def read_simulated(source: Source, offset: int, header: OmHeader) -> Simulated:
    """Read the private table at an offset and the parameters; the ONNX bytes stay where they are.

    Raises
    ------
    DamagedError
        When either is missing.
    ModelFileError
        When the container is of another version.
    """
    version = header.user_info.removeprefix(SIMULATOR_MARK)
    if version != str(CONTAINER_VERSION):
        raise file_error(
            source.path,
            f"is a simulator model of container version {version!r}, this release reads {CONTAINER_VERSION}",
            "Compile it again with this release: ascend-infer simulate compile model.onnx -o model.om",
            source.begin + 0x78,
        )
    partitions, end, _ = read_table(source, offset, wide=header.is_wide)
    onnx = _only(partitions, ONNX_PARTITION, offset)
    described = _only(partitions, PARAMETERS_PARTITION, offset)
    if described.size > _MAX_PARAMETERS:
        raise DamagedError(f"the simulator's parameters take {described.size:,} bytes", described.offset)
    try:
        parameters = json.loads(source.read(described.offset, described.size).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"the simulator's parameters are no JSON: {error}", described.offset) from error
    if not isinstance(parameters, dict) or parameters.get("version") != CONTAINER_VERSION:
        raise DamagedError("the simulator's parameters are none of this container version", described.offset)
    return Simulated((onnx.offset, onnx.size), parameters, end)


def _only(partitions: tuple[OmPartition, ...], kind: int, offset: int) -> OmPartition:
    for partition in partitions:
        if partition.type == kind:
            return partition
    raise DamagedError(f"the simulator model has no partition of type {kind:#x}", offset)
