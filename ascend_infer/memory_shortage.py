"""A pool's want of memory in words: what was needed, what is there, who has it, what to lower."""

from __future__ import annotations

from ascend_infer.errors import DeviceOutOfMemoryError, HostOutOfMemoryError, PoolLimitError
from ascend_infer.memory import readable_size

__all__ = ["shortage_error"]

#: Rounding of single blocks, which nobody needs to hear of, is below it.
_VISIBLE = 4096


def shortage_error(
    pool: str,
    *,
    host_memory: bool,
    limited: bool,
    needed: int,
    free: int,
    total: int,
    limit: int,
    reserved: int,
    active: int,
    held: int,
    largest_held: int,
    holders: tuple[tuple[str, int], ...],
    taken: int = 0,
    detail: str = "",
    code: int | None = None,
    function: str | None = None,
) -> PoolLimitError | DeviceOutOfMemoryError | HostOutOfMemoryError:
    """Make the exception for a request that a pool could not serve.

    Parameters
    ----------
    pool : str
        The pool's name in the text.
    host_memory : bool
        The pool is one of host memory, not of a device's.
    limited : bool
        The pool's own bound refused, not the memory below it.
    needed, free, total : int
        Bytes asked for; bytes the memory below has left; bytes it has in all (0: unknown).
    limit, reserved, active, held, largest_held : int
        Of the pool, in bytes; a limit of 0 is none.
    holders : tuple of (str, int)
        Owners with the most active bytes, largest first.
    taken : int
        Bytes that ``needed`` become when they are asked for, rounded up; 0: as many.
    detail, code, function
        What the runtime said when it was asked, as in :class:`AclError`.

    Returns
    -------
    PoolLimitError, HostOutOfMemoryError or DeviceOutOfMemoryError
    """
    has = f"the pool has {readable_size(active)} active and {readable_size(held)} held"
    if held:
        has += f" (largest free block {readable_size(largest_held)})"
    if limited:
        has += f" and may not go beyond {readable_size(limit or reserved)}"
    elif total:
        has += f"; {readable_size(free)} of {readable_size(total)} are free below it"
    asked = readable_size(needed)
    # A pool's own memory is asked for in whole pages, and a call to aclrtMalloc takes 32 bytes for itself.
    if taken - needed > _VISIBLE:
        asked += (
            f", which take {readable_size(taken)}: whole pages, with room for the bytes that each call adds"
        )
    text = [f"{pool}: no room for {asked}", has]
    if holders:
        text.append(
            "largest holders: " + ", ".join(f"{name} {readable_size(size)}" for name, size in holders)
        )
    remedies = "lower max_batch_size, instance counts or slots, or unload a model"
    if limited:
        remedies = f"raise pool_bytes or the limit, {remedies}"
    message = "; ".join(text) + f"; {remedies}"
    if limited:
        return PoolLimitError(
            message, requested=needed, active=active, held=held, limit=limit or reserved, holders=holders
        )
    if detail:
        message += f"\n{detail}"
    if host_memory:
        return HostOutOfMemoryError(message, code=code, function=function, detail=detail)
    return DeviceOutOfMemoryError(
        message,
        needed=needed,
        free=free,
        total=total,
        holders=holders,
        code=code,
        function=function,
        detail=detail,
    )
