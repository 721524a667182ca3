"""The numbers of .om files and their names: element types, formats, partitions, model and task types.

Two numberings of element types meet here: ``ge.proto.DataType`` in the ModelDef, ``aclDataType`` elsewhere.
What a table does not know is shown by its number, never refused: CANN adds some every year.
Sources: acl_base.h, ge_ir.proto, framework_types_internal.h and ops_kernel_info_types.h of CANN 8 and 9.
"""

from __future__ import annotations

from ascend_infer.types import DataType

__all__ = [
    "FORMATS",
    "FORMAT_CODES",
    "MODEL_TYPES",
    "PARTITIONS",
    "TASK_TYPES",
    "acl_dtype",
    "data_type",
    "dtype_bits",
    "dtype_code",
    "dtype_name",
    "format_name",
    "om_dtype",
    "partition_name",
]

# aclDataType: name, bits an element takes in memory (0: varies or unknown).
_ACL_DTYPES: dict[int, tuple[str, int]] = {
    0: ("FLOAT", 32),
    1: ("FLOAT16", 16),
    2: ("INT8", 8),
    3: ("INT32", 32),
    4: ("UINT8", 8),
    6: ("INT16", 16),
    7: ("UINT16", 16),
    8: ("UINT32", 32),
    9: ("INT64", 64),
    10: ("UINT64", 64),
    11: ("DOUBLE", 64),
    12: ("BOOL", 8),
    13: ("STRING", 0),
    14: ("DUAL_SUB_INT8", 8),
    15: ("DUAL_SUB_UINT8", 8),
    16: ("COMPLEX64", 64),
    17: ("COMPLEX128", 128),
    18: ("QINT8", 8),
    19: ("QINT16", 16),
    20: ("QINT32", 32),
    21: ("QUINT8", 8),
    22: ("QUINT16", 16),
    23: ("RESOURCE", 64),
    24: ("STRING_REF", 0),
    25: ("DUAL", 40),
    26: ("VARIANT", 0),
    27: ("BFLOAT16", 16),
    29: ("INT4", 4),
    30: ("UINT1", 1),
    31: ("INT2", 2),
    32: ("UINT2", 2),
    33: ("COMPLEX32", 32),
    34: ("HIFLOAT8", 8),
    35: ("FLOAT8_E5M2", 8),
    36: ("FLOAT8_E4M3FN", 8),
    37: ("FLOAT8_E8M0", 8),
    38: ("FLOAT6_E3M2", 6),
    39: ("FLOAT6_E2M3", 6),
    40: ("FLOAT4_E2M1", 4),
    41: ("FLOAT4_E1M2", 4),
    42: ("HIFLOAT4", 4),
}
_ACL_BY_NAME = {name: code for code, (name, _) in _ACL_DTYPES.items()} | {"BF16": 27}

# ge.proto.DataType -> aclDataType; 14 to 27 are equal, 28 and up are shifted by one.
_ACL_OF_OM = {1: 0, 2: 1, 3: 2, 4: 4, 5: 6, 6: 7, 7: 3, 8: 9, 9: 8, 10: 10, 11: 12, 12: 11, 13: 13}
_ACL_OF_OM |= {code: code for code in range(14, 28)} | {code: code + 1 for code in range(28, 42)}
_OM_OF_ACL = {acl: om for om, acl in _ACL_OF_OM.items()}

FORMATS: dict[int, str] = {
    0: "NCHW",
    1: "NHWC",
    2: "ND",
    3: "NC1HWC0",
    4: "FRACTAL_Z",
    5: "NC1C0HWPAD",
    6: "NHWC1C0",
    7: "FSR_NCHW",
    8: "FRACTAL_DECONV",
    9: "C1HWNC0",
    10: "FRACTAL_DECONV_TRANSPOSE",
    11: "FRACTAL_DECONV_SP_STRIDE_TRANS",
    12: "NC1HWC0_C04",
    13: "FRACTAL_Z_C04",
    14: "CHWN",
    15: "FRACTAL_DECONV_SP_STRIDE8_TRANS",
    16: "HWCN",
    17: "NC1KHKWHWC0",
    18: "BN_WEIGHT",
    19: "FILTER_HWCK",
    25: "C1HWNCoC0",
    26: "MD",
    27: "NDHWC",
    28: "FRACTAL_ZZ",
    29: "FRACTAL_NZ",
    30: "NCDHW",
    31: "DHWCN",
    32: "NDC1HWC0",
    33: "FRACTAL_Z_3D",
    34: "CN",
    35: "NC",
    36: "DHWNC",
    37: "FRACTAL_Z_3D_TRANSPOSE",
    38: "FRACTAL_ZN_LSTM",
    39: "FRACTAL_Z_G",
    43: "ND_RNN_BIAS",
    44: "FRACTAL_ZN_RNN",
    45: "NYUV",
    46: "NYUV_A",
    47: "NCL",
    48: "FRACTAL_Z_WINO",
    49: "C1HWC0",
    50: "FRACTAL_NZ_C0_16",
    51: "FRACTAL_NZ_C0_32",
    52: "FRACTAL_NZ_C0_2",
    53: "FRACTAL_NZ_C0_4",
    54: "FRACTAL_NZ_C0_8",
}
FORMAT_CODES = {name: code for code, name in FORMATS.items()}
# The layouts that a caller's array can have; any other is the device's own and is shown with its number.
_PLAIN_FORMATS = frozenset({0, 1, 2, 14, 16, 27, 30, 31, 34, 35, 36, 47})

MODEL_TYPES = {0: "IR", 1: "standard", 2: "tiny", 3: "flow", 4: "lite (exeom)", 5: "bundle"}

PARTITIONS = {
    0: "MODEL_DEF",
    1: "WEIGHTS_DATA",
    2: "TASK_INFO",
    3: "TBE_KERNELS",
    4: "CUST_AICPU_KERNELS",
    5: "SO_BINS",
    6: "FLOW_MODEL",
    7: "FLOW_SUBMODEL",
    8: "MODEL_INOUT_INFO",
    9: "STATIC_TASK_DESC",
    10: "DYNAMIC_TASK_DESC",
    11: "TASK_PARAM",
    12: "TILING_DATA",
    20: "PRE_MODEL_DESC",
    21: "PRE_MODEL_SQE",
    22: "PRE_KERNEL_ARGS",
    23: "PRE_MODEL_DESC_EXTEND",
    24: "BUNDLE_MODEL_INFO",
    25: "BUNDLE_MODEL_VAR_INFO",
    26: "CUSTOM_OPS",
    0x53494D31: "SIMULATOR_ONNX",
    0x53494D4A: "SIMULATOR_PARAMETERS",
}

TASK_TYPES = {
    0: "KERNEL",
    1: "EVENT_RECORD",
    2: "EVENT_WAIT",
    3: "FUSION_START",
    4: "FUSION_END",
    5: "KERNEL_EX",
    6: "HCCL",
    7: "STREAM_SWITCH",
    8: "STREAM_ACTIVE",
    9: "LABEL_SET",
    10: "LABEL_SWITCH",
    11: "LABEL_GOTO",
    12: "PROFILER_TRACE",
    13: "MEMCPY_ASYNC",
    14: "NOTIFY_RECORD",
    15: "NOTIFY_WAIT",
    16: "REDUCE_ASYNC",
    17: "RDMA_SEND",
    18: "EVENT_RESET",
    19: "END_GRAPH",
    20: "STREAM_SWITCH_N",
    21: "RDMA_DB_SEND",
    22: "MEMCPY_ADDR_ASYNC",
    23: "STREAM_LABEL_SWITCH_BY_INDEX",
    24: "STREAM_LABEL_GOTO",
    25: "MODEL_EXIT",
    26: "ALL_KERNEL",
    27: "PROFILER_TRACE_EX",
    28: "FFTS",
    29: "FFTS_PLUS",
    30: "DSA",
    31: "CMO",
    32: "BARRIER",
    33: "NPU_GET_FLOAT_STATUS",
    34: "NPU_CLEAR_FLOAT_STATUS",
    35: "DVPP",
    36: "NPU_GET_DEBUG_FLOAT_STATUS",
    37: "NPU_CLEAR_DEBUG_FLOAT_STATUS",
    38: "CMO_ADDR",
    39: "VECTOR_KERNEL",
    40: "VECTOR_ALL_KERNEL",
    41: "UPDATE",
    42: "NOP",
    43: "PREPROCESS_KERNEL",
    44: "SUPER_KERNEL",
    45: "MEM_EVENT_RECORD",
    46: "MEM_EVENT_WAIT",
    47: "FUSION_KERNEL",
    48: "KERNEL_LAUNCH_V2",
    49: "CCU_KERNEL",
    50: "CUSTOM_KERNEL",
}


def acl_dtype(om_code: int) -> int:
    """Turn a ModelDef's element type into ACL's; -1 for undefined, one ACL does not have for unknown."""
    if om_code == 0:
        return -1
    return _ACL_OF_OM.get(om_code, om_code + 1 if om_code > 0 else -1)


def om_dtype(acl_code: int) -> int:
    """Turn ACL's element type into a ModelDef's; 0 (undefined) when the ModelDef has none."""
    return _OM_OF_ACL.get(acl_code, 0)


def data_type(acl_code: int) -> DataType | None:
    """Return the tensor type of an ``aclDataType``; None where numpy has no such element."""
    try:
        return DataType.from_acl(acl_code)
    except KeyError:
        return None


def dtype_name(acl_code: int) -> str:
    """Return what to show: ``"FP32"``, ``"34 (HIFLOAT8)"``, ``"77 (unknown)"``."""
    known = data_type(acl_code)
    if known is not None:
        return str(known)
    return f"{acl_code} ({_ACL_DTYPES.get(acl_code, ('undefined' if acl_code == -1 else 'unknown', 0))[0]})"


def dtype_code(name: str) -> int:
    """Return the ``aclDataType`` of GE's spelling, ``"DT_FLOAT"`` or ``"FLOAT"``; -1 when there is none."""
    return _ACL_BY_NAME.get(name.removeprefix("DT_"), -1)


def dtype_bits(acl_code: int) -> int:
    """Return the bits an element takes in memory; 0 when it varies or is unknown."""
    return _ACL_DTYPES.get(acl_code, ("", 0))[1]


def format_name(code: int) -> str:
    """Return what to show of a format: ``"NCHW"``, ``"format 29 (FRACTAL_NZ)"``, ``"format 99"``."""
    if code == -1:
        return "undefined"
    name = FORMATS.get(code & 0xFF)
    if code in _PLAIN_FORMATS and name is not None:
        return name
    return f"format {code} ({name})" if name is not None else f"format {code}"


def partition_name(code: int) -> str:
    """Return a partition type's name, ``"type 99"`` for one that is not known."""
    return PARTITIONS.get(code, f"type {code}")
