# From the core's Status to an exception of ascend_infer.errors.
from core_pool cimport MemoryShortage, Status, StatusCode, StatusDetail

from ascend_infer.acl_codes import exception_for
from ascend_infer.errors import (
    AclError,
    ClosedError,
    ForkError,
    HostOutOfMemoryError,
    InvalidOptionError,
    MemoryBlockError,
)
from ascend_infer.memory_shortage import shortage_error


cdef str message_of(const Status &status):
    cdef const StatusDetail *detail = status.detail()
    if detail == NULL:
        return ""
    return detail.message.decode("utf-8", "replace")


cdef object exception_of(const Status &status, str pool, bint host_memory):
    """The exception for a status that is not ok; ``pool`` is the pool's name in texts."""
    cdef StatusCode code = status.code()
    cdef str text = message_of(status)
    if code == StatusCode.out_of_memory:
        return shortage_exception(status, pool, host_memory)
    if code == StatusCode.host_out_of_memory:
        return HostOutOfMemoryError(f"{pool}: the host has no memory left for the pool's own bookkeeping")
    if code == StatusCode.closed:
        return ClosedError(f"{pool} is closed and allocates no more")
    if code == StatusCode.forked:
        return ForkError(f"{pool} belongs to the parent process: start children with the method 'spawn', or open"
                         " what they need in the child")
    if code == StatusCode.invalid_argument:
        return InvalidOptionError(f"{pool}: {text}", option="memory pool")
    if code == StatusCode.double_free:
        return MemoryBlockError(f"{pool}: {text}", reason="double_free")
    if code == StatusCode.foreign_block:
        return MemoryBlockError(f"{pool}: {text}", reason="foreign_block")
    if code == StatusCode.overrun:
        return MemoryBlockError(f"{pool}: {text}", reason="overrun")
    if code == StatusCode.written_after_free:
        return MemoryBlockError(f"{pool}: {text}", reason="written_after_free")
    call = call_of(status)
    return exception_for(**call, detail=text) if call else AclError(f"{pool}: {text or 'the allocator below it failed'}")


cdef dict call_of(const Status &status):
    """The C function that failed and its code, as fields of an AclError; empty when there was none."""
    if status.function() == NULL:
        return {}
    return {"code": status.native_code(), "function": (<bytes>status.function()).decode()}


cdef object shortage_exception(const Status &status, str pool, bint host_memory):
    cdef const StatusDetail *detail = status.detail()
    if detail == NULL:
        return HostOutOfMemoryError(f"{pool}: no memory, and none on the host to say more")
    cdef const MemoryShortage *numbers = &detail.shortage
    holders = []
    cdef size_t i
    for i in range(numbers.holders.size()):
        holders.append((numbers.holders[i].owner.decode("utf-8", "replace"), numbers.holders[i].active_bytes))
    return shortage_error(
        pool,
        host_memory=host_memory,
        limited=numbers.limited,
        needed=numbers.needed,
        taken=numbers.stride,
        free=numbers.free,
        total=numbers.total,
        limit=numbers.limit,
        reserved=numbers.reserved,
        active=numbers.active,
        held=numbers.held,
        largest_held=numbers.largest_held,
        holders=tuple(holders),
        detail=detail.message.decode("utf-8", "replace"),
        **call_of(status),
    )
