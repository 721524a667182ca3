"""The structs that ACL fills in, and the dictionaries that pyACL makes of them."""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = ["READERS", "IODims"]

_MOST_DIMS = 128


class IODims(ctypes.Structure):
    """``aclmdlIODims``."""

    _fields_ = (
        ("name", ctypes.c_char * 128),
        ("dimCount", ctypes.c_size_t),
        ("dims", ctypes.c_int64 * _MOST_DIMS),
    )

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> IODims:
        """Read pyACL's form.

        Raises
        ------
        TypeError, ValueError
            It has no list of whole numbers, or more of them than ACL takes.
        """
        if not isinstance(given, dict):
            raise TypeError("argument 4 is not dict")
        dims = given.get("dims")
        count = given.get("dimCount", -1)
        if not isinstance(dims, list) or not all(isinstance(size, int) for size in dims):
            raise TypeError("the dims of fourth parameter is not list of int")
        if not isinstance(count, int) or not 0 <= count <= min(len(dims), _MOST_DIMS):
            raise ValueError(f"dimCount: got {count!r}, expected a number up to {min(len(dims), _MOST_DIMS)}")
        name = str(given.get("name", "")).encode()[:127]
        return cls(name, count, (ctypes.c_int64 * _MOST_DIMS)(*dims[:count]))


class _DimsRange(ctypes.Structure):
    _fields_ = (("rangeCount", ctypes.c_size_t), ("range", ctypes.c_int64 * 2 * _MOST_DIMS))


class _Batch(ctypes.Structure):
    _fields_ = (("batchCount", ctypes.c_size_t), ("batch", ctypes.c_uint64 * 128))


class _HW(ctypes.Structure):
    _fields_ = (("hwCount", ctypes.c_size_t), ("hw", ctypes.c_uint64 * 2 * 128))


class _Utilization(ctypes.Structure):
    _fields_ = (
        ("cubeUtilization", ctypes.c_int32),
        ("vectorUtilization", ctypes.c_int32),
        ("aicpuUtilization", ctypes.c_int32),
        ("memoryUtilization", ctypes.c_int32),
        ("utilizationExtend", ctypes.c_void_p),
    )


class _Version(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_char * 128),
        ("majorVersion", ctypes.c_char * 64),
        ("minorVersion", ctypes.c_char * 64),
        ("releaseVersion", ctypes.c_char * 64),
        ("patchVersion", ctypes.c_char * 64),
        ("reserved", ctypes.c_char * 128),
    )


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def dims_dict(dims: Any) -> dict[str, Any]:
    """Return ``{"name", "dimCount", "dims"}``."""
    return {"name": _text(dims.name), "dimCount": dims.dimCount, "dims": list(dims.dims[: dims.dimCount])}


def _range_dict(ranges: Any) -> dict[str, Any]:
    count = ranges.rangeCount
    return {"rangeCount": count, "range": [list(ranges.range[i]) for i in range(count)]}


def _batch_dict(batch: Any) -> dict[str, Any]:
    return {"batchCount": batch.batchCount, "batch": list(batch.batch[: batch.batchCount])}


def _hw_dict(sizes: Any) -> dict[str, Any]:
    return {"hwCount": sizes.hwCount, "hw": [list(sizes.hw[i]) for i in range(sizes.hwCount)]}


def _utilization_dict(rates: Any) -> dict[str, Any]:
    names = ("cube", "vector", "aicpu", "memory")
    found = {f"{name}_utilization": getattr(rates, f"{name}Utilization") for name in names}
    return {**found, "utilization_extend": rates.utilizationExtend or 0}


def _version_dict(version: Any) -> dict[str, Any]:
    found = {
        f"{name}_version": _text(getattr(version, f"{name}Version")) for name in ("major", "minor", "release")
    }
    return {
        "version": _text(version.version),
        **found,
        "patch_version": _text(version.patchVersion),
        "reserved": _text(version.reserved),
    }


#: Each struct's class, what is made of it, and whether that is left empty after a failure.
READERS: dict[str, tuple[type[ctypes.Structure], Any, bool]] = {
    "aclmdlIODims": (IODims, dims_dict, True),
    "aclmdlBatch": (_Batch, _batch_dict, True),
    "aclmdlHW": (_HW, _hw_dict, True),
    "aclmdlIODimsRange": (_DimsRange, _range_dict, False),
    "aclrtUtilizationInfo": (_Utilization, _utilization_dict, False),
    "aclCANNPackageVersion": (_Version, _version_dict, False),
}
