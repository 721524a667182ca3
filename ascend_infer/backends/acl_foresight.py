"""What a model will take of a device's memory, and whether that is there: asked before anything is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.backends.acl_device import SharedDevice
from ascend_infer.backends.base import LoadRequest
from ascend_infer.backends.file_state import FileState
from ascend_infer.errors import DeviceOutOfMemoryError, PoolLimitError
from ascend_infer.om import OmModel

__all__ = ["foresee_memory"]


def foresee_memory(
    request: LoadRequest, shared: SharedDevice, file: OmModel, state: FileState, work: int, weights: int
) -> None:
    """Refuse what cannot fit, saying who has the memory and what to lower.

    Parameters
    ----------
    request : LoadRequest
    shared : SharedDevice
    file : OmModel
    state : FileState
    work, weights : int
        Bytes, as ``aclmdlQuerySize`` states them: of each instance, and of all together.

    Raises
    ------
    PoolLimitError
        The pool is of fixed size or limited, and that does not do.
    DeviceOutOfMemoryError
        The device has not so much left.
    """

    def strides(*sizes: int) -> int:
        return sum(shared.pool.stride(size) for size in sizes if size)

    options = request.options
    if shared.has_weights(state, weights):
        weights = 0
    slot = strides(*(tensor.size for tensor in (*file.inputs, *file.outputs)))
    slots = 1 if file.dynamic == "shape" else options.slots
    needed = strides(weights) + options.instances * (strides(work) + slots * slot)
    free, total, kind = shared.device.memory()
    stats = shared.pool.stats()
    limit = stats.limit_bytes if shared.sizes.growable else stats.reserved_bytes
    bound = stats.held_bytes + free if limit is None else limit - stats.active_bytes
    if needed <= min(bound, stats.held_bytes + free):
        return
    holders = tuple((owner.name, owner.active_bytes) for owner in shared.pool.owners()[:5])
    most = f"; most of the pool is held by {_listed(holders)}" if holders else ""
    wants = (
        f"model {request.model!r} needs {needed:,} bytes ({weights:,} weights, and for each of {options.instances} "
        f"instances {work:,} workspace and {slots} slots of {slot:,})"
    )
    lower = "fewer instances, fewer slots or a smaller largest batch need less"
    if limit is not None and needed > bound:
        raise PoolLimitError(
            f"the memory pool of {request.device} is too small: {wants}, and of its {limit:,} bytes {bound:,} are free"
            f"{most}; make the pool larger, or {lower}",
            requested=needed,
            active=stats.active_bytes,
            held=stats.held_bytes,
            limit=limit,
            holders=holders,
        )
    raise DeviceOutOfMemoryError(
        f"{kind} exhausted on {request.device}: {wants}, {free:,} of {total:,} are free and {stats.held_bytes:,} more "
        f"in the pool{most}; {lower}",
        needed=needed,
        free=free,
        total=total,
        holders=holders,
    )


def _listed(holders: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{name}: {size:,}" for name, size in holders[:3])
