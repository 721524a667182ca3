"""What tensors and models are made of: data types, tensor and model signatures, gears, instances.

One table holds every name and number that Triton, numpy, ONNX, ACL and the .om file give a data type.
Nothing here touches a device, opens a file or imports a backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np

from ascend_infer.errors import MissingDependencyError

__all__ = ["DataType", "Gear", "ModelInstance", "ModelSpec", "TensorSpec"]


class DataType(Enum):
    """A tensor's element type; its value is Triton's wire name (``"FP32"``, ``"BYTES"``).

    Attributes
    ----------
    triton : int or None
        Number in Triton's ``inference.DataType``; None where Triton has no such type.
    config_name : str or None
        Name in config.pbtxt, e.g. ``"TYPE_FP32"`` (``"TYPE_STRING"`` for BYTES).
    numpy_name : str
        Name of the numpy dtype; ``"object"`` for BYTES. BF16 and the narrower types are ml_dtypes'.
    onnx : int or None
        ``TensorProto.DataType`` (onnx.proto).
    acl : int or None
        ``aclDataType`` (acl_base.h), which the .om file's MODEL_INOUT_INFO uses too.
    om : int or None
        ``ge.proto.DataType`` of the .om file's ModelDef (ge_ir.proto), a numbering of its own.
    itemsize : int
        Bytes an element takes in a numpy array; 0 for BYTES, whose elements vary in length.
    """

    #        wire            triton config_name       numpy             onnx acl  om   itemsize
    BOOL = ("BOOL", 1, "TYPE_BOOL", "bool", 9, 12, 11, 1)
    UINT8 = ("UINT8", 2, "TYPE_UINT8", "uint8", 2, 4, 4, 1)
    UINT16 = ("UINT16", 3, "TYPE_UINT16", "uint16", 4, 7, 6, 2)
    UINT32 = ("UINT32", 4, "TYPE_UINT32", "uint32", 12, 8, 9, 4)
    UINT64 = ("UINT64", 5, "TYPE_UINT64", "uint64", 13, 10, 10, 8)
    INT8 = ("INT8", 6, "TYPE_INT8", "int8", 3, 2, 3, 1)
    INT16 = ("INT16", 7, "TYPE_INT16", "int16", 5, 6, 5, 2)
    INT32 = ("INT32", 8, "TYPE_INT32", "int32", 6, 3, 7, 4)
    INT64 = ("INT64", 9, "TYPE_INT64", "int64", 7, 9, 8, 8)
    FP16 = ("FP16", 10, "TYPE_FP16", "float16", 10, 1, 2, 2)
    FP32 = ("FP32", 11, "TYPE_FP32", "float32", 1, 0, 1, 4)
    FP64 = ("FP64", 12, "TYPE_FP64", "float64", 11, 11, 12, 8)
    BYTES = ("BYTES", 13, "TYPE_STRING", "object", 8, 13, 13, 0)
    BF16 = ("BF16", 14, "TYPE_BF16", "bfloat16", 16, 27, 27, 2)
    # Types that a model file may name and Triton's configuration cannot.
    COMPLEX64 = ("COMPLEX64", None, None, "complex64", 14, 16, 16, 8)
    COMPLEX128 = ("COMPLEX128", None, None, "complex128", 15, 17, 17, 16)
    INT4 = ("INT4", None, None, "int4", 22, 29, 28, 1)
    FP8_E5M2 = ("FP8_E5M2", None, None, "float8_e5m2", 19, 35, 34, 1)
    FP8_E4M3FN = ("FP8_E4M3FN", None, None, "float8_e4m3fn", 17, 36, 35, 1)

    triton: int | None
    config_name: str | None
    numpy_name: str
    onnx: int | None
    acl: int | None
    om: int | None
    itemsize: int

    def __new__(  # noqa: D102
        cls,
        wire: str,
        triton: int | None,
        config_name: str | None,
        numpy_name: str,
        onnx: int | None,
        acl: int | None,
        om: int | None,
        itemsize: int,
    ) -> DataType:
        self = object.__new__(cls)
        self._value_ = wire
        self.triton, self.config_name, self.numpy_name = triton, config_name, numpy_name
        self.onnx, self.acl, self.om, self.itemsize = onnx, acl, om, itemsize
        return self

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype, native byte order.

        Raises
        ------
        MissingDependencyError
            For BF16 and the narrower types when ml_dtypes is not installed.
        """
        if self.numpy_name not in _ML_DTYPES:
            return np.dtype(self.numpy_name)
        try:
            import ml_dtypes
        except ImportError as error:
            raise MissingDependencyError(
                f"numpy has no {self.numpy_name}; the ml_dtypes package adds it: "
                "pip install 'ascend-infer[lowp]'",
                package="ml_dtypes",
            ) from error
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, self.numpy_name))
        return dtype

    def __repr__(self) -> str:
        return f"DataType.{self.name}"

    def __str__(self) -> str:
        return str(self.value)

    @classmethod
    def from_numpy(cls, dtype: Any) -> DataType:
        """Return the type of a numpy dtype; strings, bytes and objects are BYTES, byte order is ignored.

        Raises
        ------
        ValueError
            When no tensor type corresponds (datetimes, records).
        """
        wanted = np.dtype(dtype)
        if wanted.kind in "OSU":
            return cls.BYTES
        found = _BY_NUMPY.get(wanted.name)
        if found is None:
            raise ValueError(f"numpy dtype {wanted} is no tensor type; one of {', '.join(_BY_NUMPY)} is")
        return found

    @classmethod
    def from_config(cls, name: str) -> DataType:
        """Return the type of config.pbtxt's name, ``"TYPE_FP32"``; KeyError when there is none."""
        return _BY_CONFIG[name]

    @classmethod
    def from_onnx(cls, code: int) -> DataType:
        """Return the type of an ONNX ``TensorProto.DataType``; KeyError when there is none."""
        return _BY_ONNX[code]

    @classmethod
    def from_acl(cls, code: int) -> DataType:
        """Return the type of an ``aclDataType``; KeyError when there is none."""
        return _BY_ACL[code]

    @classmethod
    def from_om(cls, code: int) -> DataType:
        """Return the type of a .om ModelDef's ``DataType``; KeyError when there is none."""
        return _BY_OM[code]


_ML_DTYPES = frozenset({"bfloat16", "int4", "float8_e5m2", "float8_e4m3fn"})
_BY_NUMPY = {member.numpy_name: member for member in DataType if member is not DataType.BYTES}
_BY_CONFIG = {member.config_name: member for member in DataType if member.config_name}
_BY_ONNX = {member.onnx: member for member in DataType if member.onnx is not None}
_BY_ACL = {member.acl: member for member in DataType if member.acl is not None}
_BY_OM = {member.om: member for member in DataType if member.om is not None}


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Name, type and shape of one input or output.

    Attributes
    ----------
    name : str
    dtype : DataType
    shape : tuple of int
        Every dimension, the batch included; -1 where any size will do; ``()`` for a scalar, ``(-2,)`` when
        the file does not even state the rank (ACL's convention).
    dim_names : tuple of (str or None)
        The model's own names of its dimensions (``"batch"``), None where it gives none; empty when unknown.
    optional : bool
        The model has a value of its own for this input.
    """

    name: str
    dtype: DataType
    shape: tuple[int, ...]
    dim_names: tuple[str | None, ...] = ()
    optional: bool = False

    def __str__(self) -> str:
        shape = "[any rank]" if self.shape == (-2,) else str(list(self.shape))
        return f"{self.name}: {self.dtype}{shape}"


@dataclass(frozen=True, slots=True)
class Gear:
    """One compiled size of a model with several: ACL's own word (``aclmdlGetInputDynamicGearCount``).

    Attributes
    ----------
    kind : {"batch", "hw", "dims"}
    values : tuple of int
        ``(batch,)``, ``(height, width)``, or the values that fill the -1 dims in the model's order.
    """

    kind: Literal["batch", "hw", "dims"]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ModelInstance:
    """One copy of a loaded model, as it was when it was asked for.

    Attributes
    ----------
    name : str
        As in ``Timing.instance``.
    device : str
    slots : int
        Batches that it runs at the same time.
    state : {"READY", "RELOADING", "UNAVAILABLE"}
        It takes requests; it is being loaded anew after a device fault; it hangs, or is out of service for good.
    reason : str
        Why it takes none; empty where it does.
    """

    name: str
    device: str
    slots: int
    state: Literal["READY", "RELOADING", "UNAVAILABLE"] = "READY"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What a model file says of itself: the signature before any configuration is applied.

    Attributes
    ----------
    format : {"onnx", "om"}
    inputs, outputs : tuple of TensorSpec
        In the file's order. Inputs that only the runtime feeds (a gear's hidden input) are left out.
    gears : tuple of Gear
    not_tensors : mapping of str to str
        Outputs that cannot be had because they are no tensors, with their kind: ``"sequence"``, ``"map"``.
    metadata : mapping of str to str
        What the file says of its origin: producer, versions, the model's own key-value pairs.
    """

    format: Literal["onnx", "om"]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    gears: tuple[Gear, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    not_tensors: Mapping[str, str] = field(default_factory=dict)
