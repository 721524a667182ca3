"""Every code that the ACL C library returns: its name, cause and remedy, and the exception it stands for."""

from ascend_infer.acl_codes.code import AclCode
from ascend_infer.acl_codes.exception import (
    chip_unfit,
    device_fault,
    device_lost,
    device_reset,
    exception_for,
    model_unfit,
)
from ascend_infer.acl_codes.message import clean_message
from ascend_infer.acl_codes.table import acl_codes, code_of

__all__ = [
    "AclCode",
    "acl_codes",
    "chip_unfit",
    "clean_message",
    "code_of",
    "device_fault",
    "device_lost",
    "device_reset",
    "exception_for",
    "model_unfit",
]
