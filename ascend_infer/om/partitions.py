"""The partition tables of an .om file: which parts it has and where they are."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_infer.om.codes import partition_name
from ascend_infer.om.damage import DamagedError
from ascend_infer.om.source import Source

__all__ = ["MAX_PARTITIONS", "OmPartition", "pack_table", "read_table"]

# GE takes 8 at most, its flow models 4096.
MAX_PARTITIONS = 4096

_NARROW = struct.Struct("<III")
# The padding after the type may hold garbage.
_WIDE = struct.Struct("<I4xQQ")


@dataclass(frozen=True, slots=True)
class OmPartition:
    """One part of the file.

    Attributes
    ----------
    type : int
    offset : int
        Bytes from the beginning of the file (of the member, inside a bundle).
    size : int
        Bytes.
    """

    type: int
    offset: int
    size: int

    @property
    def name(self) -> str:
        """The type's name, ``"type 99"`` when it is not known."""
        return partition_name(self.type)


def read_table(source: Source, offset: int, *, wide: bool) -> tuple[tuple[OmPartition, ...], int, list[str]]:
    """Read the table at an offset.

    Parts follow each other in table order: GE adds up their sizes and ignores the offsets that are written.

    Returns
    -------
    partitions : tuple of OmPartition
    end : int
        Where the last of them ends.
    notes : list of str
        What is odd about the table.

    Raises
    ------
    DamagedError
        When the table or one of its parts does not fit into the file.
    """
    head, entry = (8, _WIDE) if wide else (4, _NARROW)
    if source.size - offset < head:
        raise DamagedError("the file ends where a partition table should begin", offset)
    count = int.from_bytes(source.read(offset, 4), "little")
    if not 1 <= count <= MAX_PARTITIONS:
        raise DamagedError(f"the partition table says it has {count} entries", offset)
    if source.size - offset - head < count * entry.size:
        raise DamagedError(f"the file ends inside its partition table of {count} entries", source.size)
    table = source.read(offset + head, count * entry.size)
    begin = offset + head + count * entry.size
    partitions, notes, place = [], [], begin
    for number, (kind, written, size) in enumerate(entry.iter_unpack(table)):
        if size > source.size - place:
            raise DamagedError(
                f"partition {partition_name(kind)} should have {size:,} bytes from byte {place:,} on, "
                f"where the file has {source.size - place:,} left",
                offset + head + number * entry.size,
            )
        if written != place - begin:
            notes.append(
                f"{partition_name(kind)}: the table says offset {written}, the sizes {place - begin}"
            )
        partitions.append(OmPartition(kind, place, size))
        place += size
    return tuple(partitions), place, notes[:8]


def pack_table(sizes: Sequence[tuple[int, int]], *, wide: bool = False) -> bytes:
    """Return the table of parts given as ``(type, size)``, which are to follow it in this order."""
    head, entry = ("<I4x", _WIDE) if wide else ("<I", _NARROW)
    table = [struct.pack(head, len(sizes))]
    place = 0
    for kind, size in sizes:
        table.append(entry.pack(kind, place, size))
        place += size
    return b"".join(table)
