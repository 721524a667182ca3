"""Errors that the ACL runtime reports, by what can be done about them.

:func:`ascend_infer.acl_codes.exception_for` makes them from a code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_infer.errors.root import AscendInferError

__all__ = [
    "AclError",
    "AclInternalError",
    "AclResourceError",
    "AclTimeoutError",
    "AclUsageError",
    "DeviceLostError",
    "DeviceOutOfMemoryError",
    "HostOutOfMemoryError",
]


class AclError(AscendInferError, RuntimeError):
    """A function of the ACL C library failed, or is known to fail and was not called.

    Attributes
    ----------
    code : int or None
        ACL's own number, ``507015``; None where we saw it coming and did not call.
    code_name : str
        Its name in CANN's headers, ``"ACL_ERROR_RT_AICORE_EXCEPTION"``.
    module : str
        Who reported it: ``"ACL"``, ``"runtime"``, ``"GE"``.
    function : str or None
        The C function that returned it.
    device_id : int or None
    detail : str
        The runtime's own text (``aclGetRecentErrMsg``), cleaned; empty when it said nothing.
    retryable : bool
        The same call may succeed later without a change to the program or the model.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        code_name: str = "",
        module: str = "",
        function: str | None = None,
        device_id: int | None = None,
        detail: str = "",
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.code_name = code_name
        self.module = module
        self.function = function
        self.device_id = device_id
        self.detail = detail
        self.retryable = retryable


class AclUsageError(AclError):
    """A wrong argument, order of calls or environment (codes 1xxxxx)."""


class AclResourceError(AclError):
    """Something ran out or is not there: memory, streams, events, permissions (codes 2xxxxx)."""


class DeviceOutOfMemoryError(AclResourceError, MemoryError):
    """The device's memory does not suffice.

    Attributes
    ----------
    needed, free, total : int or None
        Bytes; None where not known.
    holders : tuple of (str, int)
        Who holds the most, with bytes, largest first.
    """

    def __init__(
        self,
        message: str,
        *,
        needed: int | None = None,
        free: int | None = None,
        total: int | None = None,
        holders: Sequence[tuple[str, int]] = (),
        **of_acl: Any,
    ) -> None:
        super().__init__(message, **of_acl)
        self.needed = needed
        self.free = free
        self.total = total
        self.holders = tuple(holders)


class HostOutOfMemoryError(AclResourceError, MemoryError):
    """The host's memory does not suffice, ordinary or pinned."""


class AclTimeoutError(AclError, TimeoutError):
    """The device did not finish in time; what was queued may still run."""


class AclInternalError(AclError):
    """CANN, the driver or the hardware failed (codes 5xxxxx)."""


class DeviceLostError(AclInternalError):
    """The device is gone; nothing on it will work again in this process."""
