"""From an ACL code to an exception: the one function, and what a code means for those who hold the device."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.acl_codes.message import clean_message
from ascend_infer.acl_codes.table import code_of
from ascend_infer.errors import AclError, DeviceLostError, DeviceOutOfMemoryError, HostOutOfMemoryError

__all__ = ["chip_unfit", "device_fault", "device_lost", "device_reset", "exception_for", "model_unfit"]

# Their 207001 is about the host's pinned memory.
_HOST_ALLOCATORS = ("aclrtMallocHost",)


def exception_for(
    code: int,
    function: str | None = None,
    *,
    detail: str = "",
    device_id: int | None = None,
    needed: int | None = None,
    free: int | None = None,
    total: int | None = None,
    holders: Sequence[tuple[str, int]] = (),
) -> AclError:
    """Make the exception that stands for an ACL code.

    Parameters
    ----------
    code : int
        What the function returned; not 0.
    function : str, optional
        The C function, ``"aclrtMalloc"``.
    detail : str
        What ``aclGetRecentErrMsg`` says, asked for at once on the thread that got the code; cleaned here.
    device_id : int, optional
    needed, free, total : int, optional
        Bytes, where memory ran out and they are known.
    holders : sequence of (str, int)
        Who holds the device's memory, with bytes, largest first.

    Returns
    -------
    AclError
        Of the class the code stands for, not raised: its text has function, number, name, cause, remedy
        and the runtime's own words.

    Raises
    ------
    ValueError
        For code 0, which is success.

    Notes
    -----
    Pure; safe from any thread.
    """
    if code == 0:
        raise ValueError("code 0 is ACL's success; there is no exception for it")
    known = code_of(code)
    cls = known.error_class
    if cls is DeviceOutOfMemoryError and (function or "").startswith(_HOST_ALLOCATORS):
        cls = HostOutOfMemoryError
    cause, remedy = known.cause, known.remedy
    if cls is HostOutOfMemoryError and code != 200000:
        cause, remedy = (
            "the host's pinned memory is used up",
            "lower the pinned memory pool or the batch size",
        )
    words = clean_message(detail, code=code)
    head = f"{function} answers {code}" if function else f"ACL answers {code}"
    name = f" {known.name}" if known.known else ""
    where = f" on device {device_id}" if device_id is not None else ""
    text = f"{head}{name}{where}: {cause}"
    # Only those whose memory it is.
    sizes = _sizes(needed, free, total, holders) if issubclass(cls, MemoryError) else ""
    text += f" ({sizes})" if sizes else ""
    text += f"; {remedy}"
    text += f"\n{words}" if words else ""
    facts = {
        "code": code,
        "code_name": known.name,
        "module": known.module,
        "function": function,
        "device_id": device_id,
        "detail": words,
        "retryable": known.is_retryable,
    }
    if cls is DeviceOutOfMemoryError:
        return cls(text, needed=needed, free=free, total=total, holders=holders, **facts)
    return cls(text, **facts)  # type: ignore[arg-type]  # the mapping's values are of many types


def device_reset(code: int, *, detail: str = "", device_id: int | None = None) -> DeviceLostError:
    """Make the exception for a session's own context that ``aclrtSetCurrentContext`` no longer knows.

    Parameters
    ----------
    code : int
    detail : str
        As in :func:`exception_for`.
    device_id : int, optional

    Returns
    -------
    DeviceLostError
        Not raised.
    """
    known = code_of(code)
    words = clean_message(detail, code=code)
    device = "the device" if device_id is None else f"device {device_id}"
    return DeviceLostError(
        f"{device} was reset under the sessions on it, as aclrtResetDeviceForce does: their models and memory are "
        "gone, and this process does not open it again; reset only what the program itself has set (aclrtResetDevice), "
        f"and start the process anew (aclrtSetCurrentContext answers {code} {known.name})"
        + (f"\n{words}" if words else ""),
        code=code,
        code_name=known.name,
        module=known.module,
        function="aclrtSetCurrentContext",
        device_id=device_id,
        detail=words,
    )


def device_fault(code: int) -> bool:
    """Whether the instance that got this code cannot go on: its stream or the model on it is broken.

    True too when the whole device is lost. Its requests fail with the decoded error, the instance is loaded
    again, and others go on.
    """
    return bool(code_of(code).marks & {"fault", "lost"})


def device_lost(code: int) -> bool:
    """Whether the device is gone for this process: 507010 and 507901."""
    return "lost" in code_of(code).marks


def chip_unfit(code: int) -> bool:
    """Whether a loader's code may mean another chip's file: its content was read, and not taken."""
    return "chip" in code_of(code).marks


def model_unfit(code: int) -> bool:
    """Whether a loader's code says that the file itself does not do: damaged, or of another CANN or chip."""
    return "model" in code_of(code).marks


def _sizes(
    needed: int | None, free: int | None, total: int | None, holders: Sequence[tuple[str, int]]
) -> str:
    parts = [
        f"{word} {size:,} bytes"
        for word, size in (("needed", needed), ("free", free), ("total", total))
        if size is not None
    ]
    parts += (
        ["most is held by " + ", ".join(f"{name}: {size:,}" for name, size in holders[:3])] if holders else []
    )
    return ", ".join(parts)
