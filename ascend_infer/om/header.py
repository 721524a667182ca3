"""The 256 bytes that an .om file begins with."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ascend_infer.om.codes import MODEL_TYPES
from ascend_infer.om.damage import DamagedError
from ascend_infer.om.kind import MAGIC

__all__ = [
    "HEADER_SIZE",
    "SIMULATOR_MARK",
    "VERSION_1",
    "VERSION_2",
    "OmHeader",
    "pack_header",
    "parse_header",
]

HEADER_SIZE = 256
VERSION_1 = 0x10000000
VERSION_2 = 0x20000000
SIMULATOR_MARK = "ascend_infer sim "

# magic headsize version checksum length | encrypt checksum modeltype genmode | name ops userinfo ir_version
_COMMON = struct.Struct("<4sII64sI4B32sI32sI")
# From 0x9C. Version 2 put model_num in front of the platform's fields.
_TAIL_1 = struct.Struct("<20sB")
_TAIL_2 = struct.Struct("<I20sB3xQBB")
_BUNDLE, _FLOW = 5, 3


@dataclass(frozen=True, slots=True)
class OmHeader:
    """The header's fields; version 1 (2020) files have no ``model_length`` and one model.

    Attributes
    ----------
    version : int
        ``0x10000000`` or ``0x20000000``.
    model_type, generation_mode : int
        0 IR, 3 flow, 4 lite, 5 bundle; 0 offline, 1 online.
    name : str
        Cut to 31 bytes by the writer.
    length, model_length : int
        Bytes after the header by the 32-bit and the 64-bit field; the one not in use is 0.
    is_encrypted, needs_host_check, is_unknown_shape : bool
    ir_version, model_count : int
    platform_version : str
        A constant of GE, not CANN's version.
    platform_type : int
    user_info : str
        CANN leaves it empty; this library marks simulator models there.
    """

    version: int
    model_type: int
    generation_mode: int
    name: str
    length: int
    model_length: int
    is_encrypted: bool
    ir_version: int
    model_count: int
    platform_version: str
    platform_type: int
    needs_host_check: bool
    is_unknown_shape: bool
    user_info: str

    @property
    def is_wide(self) -> bool:
        """Whether the partition tables have 64-bit fields."""
        return self.version >= VERSION_2 and (self.model_length != 0 or self.model_type in (_FLOW, _BUNDLE))

    @property
    def is_dynamic(self) -> bool:
        """Whether ACL runs it by its engine for dynamic shapes (GE's ``IsDynamicModel``)."""
        return self.version >= VERSION_2 and (self.model_count > 1 or self.is_unknown_shape)

    @property
    def body_length(self) -> int:
        """Bytes that are said to follow the header."""
        return self.model_length or self.length

    @property
    def model_type_name(self) -> str:
        """The type's name, or its number."""
        return MODEL_TYPES.get(self.model_type, f"type {self.model_type}")


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def parse_header(data: bytes) -> OmHeader:
    """Read the header out of a file's first 256 bytes.

    Raises
    ------
    DamagedError
        When there are fewer, or they are no header.
    """
    if len(data) < HEADER_SIZE:
        raise DamagedError(
            f"the file has {len(data)} bytes, not even a whole header of {HEADER_SIZE}", len(data)
        )
    magic, size, version, _, length, encrypted, _, kind, mode, name, _, user, ir_version = (
        _COMMON.unpack_from(data)
    )
    if magic != MAGIC:
        raise DamagedError(f"no .om header: {magic.hex(' ')} instead of IMOD", 0)
    if size != HEADER_SIZE:
        raise DamagedError(f"the header says it has {size} bytes instead of {HEADER_SIZE}", 4)
    if version & 0x0FFFFFFF or version < VERSION_1:
        raise DamagedError(f"header version {version:#x} is none that ATC writes", 8)
    if version < VERSION_2:
        count, model_length, host_check, unknown_shape = 1, 0, 0, 0
        platform, platform_type = _TAIL_1.unpack_from(data, 0x9C)
    else:
        count, platform, platform_type, model_length, host_check, unknown_shape = _TAIL_2.unpack_from(
            data, 0x9C
        )
    return OmHeader(
        version=version,
        model_type=kind,
        generation_mode=mode,
        name=_text(name),
        length=length,
        model_length=model_length,
        is_encrypted=encrypted != 0,
        ir_version=ir_version,
        # Files of unknown origin leave 0 where there is one model.
        model_count=count or 1,
        platform_version=_text(platform),
        platform_type=platform_type,
        needs_host_check=host_check != 0,
        is_unknown_shape=unknown_shape != 0,
        user_info=_text(user),
    )


def _field(text: str, size: int) -> bytes:
    """Encode for a NUL-padded field, cut between characters."""
    return text.encode("utf-8")[: size - 1].decode("utf-8", "ignore").encode("utf-8")


def pack_header(header: OmHeader) -> bytes:
    """Return the 256 bytes of a header; names are cut to their fields."""
    common = _COMMON.pack(
        MAGIC, HEADER_SIZE, header.version, b"", header.length, header.is_encrypted, 0, header.model_type,
        header.generation_mode, _field(header.name, 32), 0, _field(header.user_info, 32), header.ir_version,
    )  # fmt: skip
    platform = _field(header.platform_version, 20)
    if header.version < VERSION_2:
        tail = _TAIL_1.pack(platform, header.platform_type)
    else:
        tail = _TAIL_2.pack(
            header.model_count, platform, header.platform_type, header.model_length,
            header.needs_host_check, header.is_unknown_shape,
        )  # fmt: skip
    return (common + tail).ljust(HEADER_SIZE, b"\0")
