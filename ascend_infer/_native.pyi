# Stub of the compiled core (_ext/_native.pyx); docstrings stand here, where editors and people look for them.
from collections.abc import Iterable
from types import TracebackType
from typing import NoReturn, SupportsIndex, final

from ascend_infer.memory import OwnerUsage, PoolStats

@final
class MemoryPool:
    """Memory taken from an upstream in large regions and handed out in blocks: best fit, merged when freed.

    Comes from :func:`counting_pool` or :func:`host_pool`. Every method may be called from any thread.

    Lifetime: each block keeps its pool alive; a pool that is dropped gives all its regions back. As a context
    manager it closes itself.
    """

    @property
    def name(self) -> str:
        """What the pool is called in error texts."""

    @property
    def host_accessible(self) -> bool:
        """Whether the CPU may touch its memory, so that blocks have the buffer protocol."""

    @property
    def closed(self) -> bool: ...
    def stride(self, nbytes: SupportsIndex) -> int:
        """Bytes that a block of `nbytes` takes in the pool: rounded up to 32, 32 more, rounded up to 512."""

    def allocate(self, nbytes: SupportsIndex, owner: str = "unnamed") -> Block:
        """Take a block; its contents are undefined.

        Waits for the upstream only when the pool has to grow; the GIL is released.

        Parameters
        ----------
        nbytes : int
            1 to 2**62.
        owner : str
            Who is charged in :meth:`owners`: ``"weights of resnet50"``.

        Returns
        -------
        Block
            Active until its ``free``, or until it is dropped. Starts at a multiple of 64 bytes.

        Raises
        ------
        InvalidOptionError
            `nbytes` or `owner` is of another type or range.
        PoolLimitError
            The pool's own bound is reached, even after a trim.
        DeviceOutOfMemoryError, HostOutOfMemoryError
            The upstream has no memory, even after a trim.
        ClosedError
            The pool is closed.
        MemoryBlockError
            With ``guard``: somebody wrote into free memory.
        AclError
            The upstream failed for another reason.
        """

    def stats(self) -> PoolStats:
        """All numbers at one moment."""

    def owners(self) -> tuple[OwnerUsage, ...]:
        """Owners of active blocks, those with the most bytes first."""

    def trim(self) -> int:
        """Give regions without any active block back to the upstream, but for the preallocated one.

        Returns
        -------
        int
            Bytes given back.
        """

    def close(self) -> None:
        """Allocate no more; give each region back as soon as no block in it is active. Idempotent.

        Blocks stay valid until they are freed.
        """

    def __enter__(self) -> MemoryPool: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __reduce__(self) -> NoReturn: ...

@final
class Block:
    """A piece of a pool's memory, in one owner's hand.

    With host memory it has the buffer protocol: writable, one dimension of unsigned bytes. While a view lives
    (``memoryview``, an array on it) the memory is not used again, even after ``free``.

    Lifetime: keeps its pool alive. Freed by ``free``, at the end of a ``with`` statement, or when dropped.
    """

    @property
    def address(self) -> int:
        """Where it starts, on the device or the host. ClosedError once freed."""

    @property
    def nbytes(self) -> int:
        """As asked for."""

    @property
    def owner(self) -> str: ...
    @property
    def pool(self) -> MemoryPool: ...
    @property
    def views(self) -> int:
        """Buffers that are exported now."""

    @property
    def freed(self) -> bool:
        """Whether ``free`` was called; the memory may still wait for views."""

    def free(self) -> None:
        """Give the memory back, now or when the last view is gone. Idempotent.

        Device work that uses the block must be finished: the pool does not wait for it.

        Raises
        ------
        MemoryBlockError
            With ``guard``: somebody wrote past its end. It is freed all the same.
        """

    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __enter__(self) -> Block: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> NoReturn: ...

def counting_pool(
    capacity_bytes: SupportsIndex,
    *,
    pool_bytes: SupportsIndex = 0,
    limit_bytes: SupportsIndex | None = None,
    growable: bool = True,
    failing_calls: Iterable[SupportsIndex] = (),
    upstream_extra: SupportsIndex = 0,
) -> MemoryPool:
    """Open a pool without memory: addresses that rise, a capacity that is a number. For tests and planning.

    Parameters
    ----------
    capacity_bytes : int
        What the pretended device has.
    pool_bytes : int
        Taken at once and kept until the pool closes.
    limit_bytes : int or None
        Most that the pool may take; None: the capacity.
    growable : bool
        False: `pool_bytes` is all there is.
    failing_calls : iterable of int
        Numbers (from 1) of the calls of the upstream that fail for want of memory.
    upstream_extra : int
        Bytes that the upstream adds to each request by itself (aclrtMalloc: 32); regions are made to fit its pages
        with them.

    Raises
    ------
    InvalidOptionError
        An argument's type or range, or arguments that contradict each other.
    DeviceOutOfMemoryError
        `pool_bytes` cannot be had.
    """

def host_pool(
    *,
    pool_bytes: SupportsIndex = 0,
    limit_bytes: SupportsIndex | None = None,
    growable: bool = True,
    guard: bool = False,
) -> MemoryPool:
    """Open a pool of ordinary host memory.

    Parameters
    ----------
    pool_bytes, limit_bytes, growable
        As of :func:`counting_pool`.
    guard : bool
        Fill free memory and the room behind each block with patterns and look at them again, under the pool's lock:
        finds writes past a block's end and into freed blocks. Slow; for debugging.

    Raises
    ------
    InvalidOptionError
        An argument's type or range, or arguments that contradict each other.
    HostOutOfMemoryError
        `pool_bytes` cannot be had.
    """
