"""A plain user of ACL through ctypes: what a program does by hand, one request at a time."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ascend_infer.types import DataType

Size, Pointer = ctypes.c_size_t, ctypes.c_void_p


class IODims(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char * 128), ("dimCount", Size), ("dims", ctypes.c_int64 * 128))

    def shape(self) -> tuple[int, ...]:
        return tuple(self.dims[: self.dimCount])


class Acl:
    """The library, with a check of every code."""

    def __init__(self, path: str) -> None:
        self.dll = ctypes.CDLL(path, mode=os.RTLD_LOCAL)
        for name in ("aclGetRecentErrMsg", "aclmdlGetInputNameByIndex", "aclmdlGetOutputNameByIndex"):
            getattr(self.dll, name).restype = ctypes.c_char_p
        for name in (
            "aclmdlCreateDesc", "aclmdlCreateDataset", "aclCreateDataBuffer", "aclmdlGetDatasetTensorDesc",
            "aclCreateTensorDesc", "aclmdlGetDatasetBuffer", "aclGetDataBufferAddr",
        ):  # fmt: skip
            getattr(self.dll, name).restype = Pointer
        for name in ("aclmdlGetNumInputs", "aclmdlGetNumOutputs", "aclmdlGetInputSizeByIndex"):
            getattr(self.dll, name).restype = Size
        self.dll.aclmdlGetOutputSizeByIndex.restype = Size
        self.dll.aclGetTensorDescNumDims.restype = Size
        self.dll.aclGetDataBufferSizeV2.restype = Size

    def __call__(self, name: str, *arguments: Any) -> None:
        code = getattr(self.dll, name)(*arguments)
        if code != 0:
            raise AclFailure(name, code, (self.dll.aclGetRecentErrMsg() or b"").decode())

    def malloc(self, size: int) -> ctypes.c_void_p:
        memory = Pointer()
        self("aclrtMalloc", ctypes.byref(memory), Size(size), 0)
        return memory


class AclFailure(Exception):
    def __init__(self, name: str, code: int, text: str) -> None:
        super().__init__(f"{name}: {code}: {text}")
        self.code, self.text = code, text


class LoadedModel:
    """One model id, run synchronously."""

    def __init__(self, acl: Acl, path: Path) -> None:
        self.acl, self.dll = acl, acl.dll
        self.id = ctypes.c_uint32()
        acl("aclmdlLoadFromFile", os.fsencode(path), ctypes.byref(self.id))
        self.desc = Pointer(self.dll.aclmdlCreateDesc())
        acl("aclmdlGetDesc", self.desc, self.id)
        self.inputs = [
            self.dll.aclmdlGetInputNameByIndex(self.desc, Size(i)).decode()
            for i in range(self.dll.aclmdlGetNumInputs(self.desc))
        ]
        self.outputs = [
            self.dll.aclmdlGetOutputNameByIndex(self.desc, Size(i)).decode()
            for i in range(self.dll.aclmdlGetNumOutputs(self.desc))
        ]

    def dims(self, function: str, index: int) -> tuple[int, ...]:
        out = IODims()
        self.acl(function, self.desc, Size(index), ctypes.byref(out))
        return out.shape()

    def dtype(self, index: int) -> np.dtype[Any]:
        return DataType.from_acl(self.dll.aclmdlGetOutputDataType(self.desc, Size(index))).numpy

    def run(
        self, feed: Mapping[str, np.ndarray[Any, Any]], gear: tuple[int, ...] = ()
    ) -> list[np.ndarray[Any, Any]]:
        acl, dll = self.acl, self.dll
        ins, outs = Pointer(dll.aclmdlCreateDataset()), Pointer(dll.aclmdlCreateDataset())
        for index, name in enumerate(self.inputs):
            array = np.ascontiguousarray(feed[name]) if name in feed else None
            size = dll.aclmdlGetInputSizeByIndex(self.desc, Size(index)) or (
                array.nbytes if array is not None else 0
            )
            memory = acl.malloc(max(size, 1))
            if array is not None:
                acl("aclrtMemcpy", memory, Size(size), array.ctypes.data_as(Pointer), Size(array.nbytes), 1)
            acl("aclmdlAddDatasetBuffer", ins, Pointer(dll.aclCreateDataBuffer(memory, Size(size))))
            if array is not None and -1 in self.dims("aclmdlGetInputDimsV2", index) and not gear:
                dims = (ctypes.c_int64 * array.ndim)(*array.shape)
                desc = Pointer(dll.aclCreateTensorDesc(0, array.ndim, dims, 2))
                acl("aclmdlSetDatasetTensorDesc", ins, desc, Size(index))
                dll.aclDestroyTensorDesc(desc)
        for index in range(len(self.outputs)):
            size = dll.aclmdlGetOutputSizeByIndex(self.desc, Size(index))
            memory = acl.malloc(size) if size else None
            acl("aclmdlAddDatasetBuffer", outs, Pointer(dll.aclCreateDataBuffer(memory, Size(size))))
        if gear:
            hidden = Size(self.inputs.index("ascend_mbatch_shape_data"))
            if len(gear) == 1:
                acl("aclmdlSetDynamicBatchSize", self.id, ins, hidden, ctypes.c_uint64(gear[0]))
            elif len(gear) == 2:
                acl("aclmdlSetDynamicHWSize", self.id, ins, hidden, *(ctypes.c_uint64(v) for v in gear))
            else:
                dims = IODims(dimCount=len(gear))
                dims.dims[: len(gear)] = gear
                acl("aclmdlSetInputDynamicDims", self.id, ins, hidden, ctypes.byref(dims))
        acl("aclmdlExecute", self.id, ins, outs)
        results = []
        for index in range(len(self.outputs)):
            buffer = Pointer(dll.aclmdlGetDatasetBuffer(outs, Size(index)))
            desc = dll.aclmdlGetDatasetTensorDesc(outs, Size(index))
            if desc:
                shape = []
                for axis in range(dll.aclGetTensorDescNumDims(Pointer(desc))):
                    value = ctypes.c_int64()
                    acl("aclGetTensorDescDimV2", Pointer(desc), Size(axis), ctypes.byref(value))
                    shape.append(value.value)
            else:
                shape = list(self.dims("aclmdlGetCurOutputDims", index))
            result = np.empty(shape, self.dtype(index))
            address = Pointer(dll.aclGetDataBufferAddr(buffer))
            acl(
                "aclrtMemcpy",
                result.ctypes.data_as(Pointer),
                Size(result.nbytes),
                address,
                Size(result.nbytes),
                2,
            )
            results.append(result)
        for dataset in (ins, outs):
            acl("aclmdlDestroyDataset", dataset)
        return results
