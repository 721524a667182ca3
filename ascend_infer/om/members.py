"""Models inside other models' files: the members of a bundle and of a flow model."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_infer.om.kind import MAGIC
from ascend_infer.om.partitions import OmPartition
from ascend_infer.om.source import Source
from ascend_infer.wire import BYTES, FIXED32, FIXED64, VARINT, WireError, read_varint

__all__ = ["bundle_members", "flow_members"]

_BUNDLE_MODEL, _FLOW_SUBMODEL = 24, 7
_OM_DATA = 3


def bundle_members(source: Source, partitions: tuple[OmPartition, ...]) -> Iterator[Source]:
    """Return the complete .om files in a bundle."""
    for partition in partitions:
        if partition.type == _BUNDLE_MODEL:
            yield source.part(partition.offset, partition.size)


def flow_members(source: Source, partitions: tuple[OmPartition, ...]) -> Iterator[Source]:
    """Return the .om files in a flow model; submodels of other kinds are passed over."""
    for partition in partitions:
        if partition.type == _FLOW_SUBMODEL:
            part = source.part(partition.offset, partition.size)
            try:
                found = _om_data(part)
            except WireError:
                continue
            if found is not None and found.size > 4 and found.read(0, 4) == MAGIC:
                yield found


def _om_data(part: Source) -> Source | None:
    """Find field 3 of a SubmodelDef without reading it: it is a whole model with its weights."""
    offset = 0
    while offset < part.size:
        window = part.read(offset, min(20, part.size - offset))
        key, place = read_varint(window, 0, len(window))
        kind = key & 7
        if kind == BYTES:
            length, place = read_varint(window, place, len(window))
            if length > part.size - offset - place:
                raise WireError("a field of the submodel is longer than the submodel", offset)
            if key >> 3 == _OM_DATA:
                return part.part(offset + place, length)
            offset += place + length
        elif kind == VARINT:
            _, place = read_varint(window, place, len(window))
            offset += place
        elif kind in (FIXED32, FIXED64):
            offset += place + (4 if kind == FIXED32 else 8)
        else:
            raise WireError(f"wire type {kind}", offset)
    return None
