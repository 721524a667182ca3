# From the core's AclStatus to an exception of ascend_infer.errors: the one place that raises for ACL.
from core_acl cimport AclOutcome, AclStatus, acl_symbol_since, retires_instance

from ascend_infer.acl_codes import clean_message, device_reset, exception_for
from ascend_infer.errors import (
    AclInternalError,
    AclTimeoutError,
    ForkError,
    RequestCancelledError,
    SymbolNotFoundError,
)


cdef object acl_exception(const AclStatus &status, AclLibrary library, int device, object invalid):
    """The exception for a status that is not ok; ``invalid`` makes the one for a wrong argument from its text."""
    cdef const char *since
    cdef AclOutcome outcome = status.outcome()
    cdef str text = status.text().decode("utf-8", "replace")
    if outcome == AclOutcome.failed_call:
        number = None if device < 0 else device
        function = (<bytes>status.function()).decode()
        if function == "aclrtSetCurrentContext":
            # The only context whose setting is looked at is the device's own, which is there until someone resets it.
            return device_reset(status.code(), detail=text, device_id=number)
        return exception_for(status.code(), function, detail=text, device_id=number)
    if outcome == AclOutcome.invalid_argument:
        return invalid(text)
    if outcome == AclOutcome.missing_symbol:
        name = (<bytes>status.function()).decode()
        since = acl_symbol_since(status.function())
        release = None if since == NULL else (<bytes>since).decode()
        return SymbolNotFoundError(
            f"{library.path} has no {name}, which CANN {release} and later have", symbol=name, since=release,
            library=library.path,
        )
    if outcome == AclOutcome.pool:
        pool = f"pinned memory for device {device}" if status.pinned() else f"memory of device {device}"
        return exception_of(status.memory(), pool, status.pinned())
    if outcome == AclOutcome.host_out_of_memory:
        return HostOutOfMemoryError("the host has no memory left for our own bookkeeping")
    if outcome == AclOutcome.forked:
        return ForkError(
            "this process was forked off one that uses the NPU, and ACL does not work in it: start processes with "
            "multiprocessing's 'spawn' method, or load models only after the fork"
        )
    if outcome == AclOutcome.interrupted:
        return RequestCancelledError("stopped while it ran; the device finishes what it began")
    if outcome == AclOutcome.retired:
        return AclInternalError(
            f"the model's instance had a device fault and does not run again: {clean_message(text)}",
            device_id=None if device < 0 else device,
        )
    if outcome == AclOutcome.busy:
        return AclTimeoutError(
            "the device did not finish in time; what was queued may still run",
            device_id=None if device < 0 else device,
        )
    return ClosedError("the device or the model was closed, or the process is ending")


def _retires_instance(code):
    return retires_instance(code)
