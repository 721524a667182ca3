"""Functions whose arguments or results are more than numbers: lists, dictionaries, values of several kinds."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ascend_infer.compat.acl.binding import Call
from ascend_infer.compat.acl.callbacks import ExceptionCallback, StreamCallbacks
from ascend_infer.compat.acl.constants import (
    ACL_MDL_MEM_ADDR_PTR,
    ACL_MDL_PATH_PTR,
    ACL_MDL_PRIORITY_INT32,
    ACL_MDL_WEIGHT_ADDR_PTR,
    ACL_MDL_WEIGHT_PATH_PTR,
    ACL_MDL_WORKSPACE_ADDR_PTR,
)
from ascend_infer.compat.acl.structs import IODims, dims_dict

__all__ = ["COMPOSED"]

_ADDRESSES = (
    ACL_MDL_MEM_ADDR_PTR,
    ACL_MDL_WEIGHT_ADDR_PTR,
    ACL_MDL_WEIGHT_PATH_PTR,
    ACL_MDL_WORKSPACE_ADDR_PTR,
)
#: pyACL's own limit for lists that it makes room for.
_LONGEST = 4096
_INVALID_PARAM = 100000


def _init(raw: Call) -> Call:
    def init(*arguments: str) -> int:
        """``aclInit``: with the path of a configuration, or with nothing."""
        if len(arguments) > 1 or not all(isinstance(path, str) for path in arguments):
            raise TypeError("acl.init args parse failed: expected the path of a file, or nothing")
        code: int = raw(arguments[0].encode() if arguments else None)
        return code

    return init


def _create_tensor_desc(raw: Call) -> Call:
    def create_tensor_desc(dtype: int, dims: list[int], layout: int) -> int:
        """``aclCreateTensorDesc``."""
        if not isinstance(dims, list):
            raise TypeError("argument 2 is not list")
        numbers = (ctypes.c_int64 * (len(dims) or 1))(*dims)
        found: int = raw(dtype, len(dims), _address(numbers), layout)
        return found

    return create_tensor_desc


def _set_tensor_shape_range(raw: Call) -> Call:
    def set_tensor_shape_range(desc: int, ranges: list[list[int]]) -> int:
        """``aclSetTensorShapeRange``."""
        if not isinstance(ranges, list):
            raise TypeError("argument 2 is not list")
        numbers = (ctypes.c_int64 * (2 * len(ranges) or 1))(*(end for pair in ranges for end in pair))
        code: int = raw(desc, len(ranges), _address(numbers))
        return code

    return set_tensor_shape_range


def _get_tensor_desc_dim_range(raw: Call) -> Call:
    def get_tensor_desc_dim_range(desc: int, place: int, count: int) -> tuple[list[int] | None, int]:
        """``aclGetTensorDescDimRange``."""
        if not 0 <= count <= _LONGEST:
            return None, _INVALID_PARAM
        numbers = (ctypes.c_int64 * (count + 1))()
        code = raw(desc, place, count, _address(numbers))
        return (list(numbers[:count]) if code == 0 else None), code

    return get_tensor_desc_dim_range


def _get_version_str(raw: Call) -> Call:
    def get_version_str(package: str) -> tuple[str, int]:
        """``aclsysGetVersionStr``."""
        name, text = ctypes.create_string_buffer(package.encode()), ctypes.create_string_buffer(128)
        code = raw(_address(name), _address(text))
        return text.value.decode("utf-8", "replace"), code

    return get_version_str


def _get_cann_attribute_list(raw: Call) -> Call:
    def get_cann_attribute_list() -> tuple[list[int], int, int]:
        """``aclGetCannAttributeList``."""
        where, count = ctypes.c_void_p(), ctypes.c_size_t()
        code = raw(_address(where), _address(count))
        found = (ctypes.c_int32 * count.value).from_address(where.value) if code == 0 and where.value else ()
        return list(found), count.value, code

    return get_cann_attribute_list


def _with_dataset(raw: Call) -> Call:
    def changed(dataset: int, *arguments: int) -> tuple[int, int]:
        """Change a dataset; returns it and the code."""
        return dataset, raw(dataset, *arguments)

    return changed


def _set_config_opt(raw: Call) -> Call:
    def set_config_opt(handle: int, attribute: int, value: Any) -> int:
        """``aclmdlSetConfigOpt``: paths as str, addresses and sizes as int."""
        if attribute == ACL_MDL_PATH_PTR:
            if not isinstance(value, str):
                raise TypeError("acl.mdl.set_config_opt args parse failed: a path is a str")
            text = ctypes.c_char_p(value.encode())  # the library copies it
            code: int = raw(handle, attribute, _address(text), ctypes.sizeof(text))
            return code
        kind: Any = ctypes.c_int32 if attribute == ACL_MDL_PRIORITY_INT32 else ctypes.c_uint64
        number = kind(value)
        return int(raw(handle, attribute, _address(number), ctypes.sizeof(number)))

    return set_config_opt


def _set_exec_config_opt(raw: Call) -> Call:
    def set_exec_config_opt(handle: int, attribute: int, value: int) -> int:
        """``aclmdlSetExecConfigOpt``."""
        number = ctypes.c_uint32(value)
        code: int = raw(handle, attribute, _address(number), ctypes.sizeof(number))
        return code

    return set_exec_config_opt


def _set_input_dynamic_dims(raw: Call) -> Call:
    def set_input_dynamic_dims(model: int, dataset: int, place: int, dims: dict[str, Any]) -> int:
        """``aclmdlSetInputDynamicDims``: dims as ``get_input_dynamic_dims`` gives them."""
        given = IODims.from_dict(dims)
        code: int = raw(model, dataset, place, _address(given))
        return code

    return set_input_dynamic_dims


def _get_input_dynamic_dims(raw: Call) -> Call:
    def get_input_dynamic_dims(desc: int, place: int, count: int) -> tuple[list[Any] | None, int]:
        """``aclmdlGetInputDynamicDims``: one dictionary a gear."""
        if not 0 <= count <= _LONGEST:
            return None, _INVALID_PARAM
        gears = (IODims * (count + 1))()
        code = raw(desc, place, _address(gears), count)
        return ([dims_dict(gears[i]) for i in range(count)] if code == 0 else []), code

    return get_input_dynamic_dims


def _address(thing: Any) -> int:
    return ctypes.addressof(thing)


#: What each is made with, given the C function.
COMPOSED: dict[str, Callable[[Call], Call]] = {
    "acl.init": _init,
    "acl.create_tensor_desc": _create_tensor_desc,
    "acl.set_tensor_shape_range": _set_tensor_shape_range,
    "acl.get_tensor_desc_dim_range": _get_tensor_desc_dim_range,
    "acl.get_version_str": _get_version_str,
    "acl.get_cann_attribute_list": _get_cann_attribute_list,
    "acl.rt.launch_callback": StreamCallbacks,
    "acl.rt.set_exception_info_callback": ExceptionCallback,
    "acl.mdl.add_dataset_buffer": _with_dataset,
    "acl.mdl.set_dataset_tensor_desc": _with_dataset,
    "acl.mdl.set_config_opt": _set_config_opt,
    "acl.mdl.set_exec_config_opt": _set_exec_config_opt,
    "acl.mdl.set_input_dynamic_dims": _set_input_dynamic_dims,
    "acl.mdl.get_input_dynamic_dims": _get_input_dynamic_dims,
}
