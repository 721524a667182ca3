"""The pool of a device's memory in the user's hand: made once, shared by sessions, looked at."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ascend_infer.errors import ClosedError, CopyError, InvalidOptionError, UnclosedResourceWarning
from ascend_infer.memory import OwnerUsage, PoolStats, readable_size
from ascend_infer.refusal import wrong_option

if TYPE_CHECKING:
    from ascend_infer._native import MemoryPool as NativePool
    from ascend_infer.backends.acl_device import SharedDevice
    from ascend_infer.backends.base import DeviceTarget

__all__ = ["MemoryPool", "in_use", "pools_of"]


class MemoryPool:
    """A device's memory, taken at once and shared by the sessions on the device.

    A device has one pool, and one of pinned host memory for copies. Made by hand it is there before the first session
    and stays when the last one is closed, so that models may come and go without asking the device again.

    Parameters
    ----------
    device : str
        ``"npu:0"``, ``"sim:1"``; without a number the first one. ``"auto"`` where that is an NPU.
    nbytes : int
        Bytes to take now, rounded up to the device's pages of 2 MiB.
    growable : bool
        False: `nbytes` are all there is; models that do not fit are refused before they are loaded.
    limit_bytes : int, optional
        Most that a growable pool may come to; only the device bounds it where left out.
    pinned_bytes : int, optional
        Bytes of pinned host memory to take now, rounded likewise; left out, it grows by what is needed.
    pinned_growable : bool
        False: `pinned_bytes` are all there is of it.

    Raises
    ------
    InvalidOptionError
        An option cannot be so, or the device is open with pools of other sizes: close the sessions on it first, or
        make the pool before them.
    DeviceNotFoundError
        There is no such device.
    DeviceOutOfMemoryError, HostOutOfMemoryError
        So much cannot be had; nothing stays taken.
    AclError, LibraryError

    Notes
    -----
    Opening blocks; the first device of a process may take seconds. Thread safety: every method may be called from any
    thread.

    Lifetime: ``close()`` or ``with``. Sessions that are open then go on, and the memory is given back with the last of
    them, or of their results that lie in it. A pool that is dropped unclosed warns. In a forked child its numbers are
    ``ForkError`` and closing it does nothing.

    Examples
    --------
    >>> import ascend_infer as ai
    >>> with ai.MemoryPool("npu:0", 2 << 30, growable=False) as pool:  # doctest: +SKIP
    ...     detector = ai.Session("repository/detector", device="npu:0", memory_pool=pool)
    ...     classifier = ai.Session("repository/classifier", device="npu:0", memory_pool=pool)
    ...     pool.owners()
    """

    def __init__(
        self,
        device: str,
        nbytes: int,
        *,
        growable: bool = True,
        limit_bytes: int | None = None,
        pinned_bytes: int | None = None,
        pinned_growable: bool = True,
    ) -> None:
        from ascend_infer.backends.acl_device import PoolSizes, acquire_device, at_exit_close
        from ascend_infer.device import choose_device

        _check(nbytes, limit_bytes, pinned_bytes, growable, pinned_growable)
        target = choose_device(device).target
        if target.kind == "cpu":
            raise InvalidOptionError(
                f"device: got {device!r}, which is the CPU; memory pools are those of an NPU ('npu:0') or of the "
                "simulator ('sim:0')",
                option="device",
                got=device,
            )
        sizes = PoolSizes(nbytes, pinned_bytes, growable, limit_bytes, pinned_growable)
        self._use = acquire_device(target, sizes, made=True)
        self._shared: SharedDevice = self._use.shared
        self._process = os.getpid()
        self._made = True
        self._closed = False
        self._unclosed = weakref.finalize(self, _warn, str(target))
        self._unclosed.atexit = False
        at_exit_close(self)

    @classmethod
    def of(cls, shared: SharedDevice) -> MemoryPool:
        """Show the pool of a device that others keep open; closing it does nothing."""
        pool = cls.__new__(cls)
        pool._shared = shared
        pool._made = False
        pool._closed = False
        return pool

    @property
    def device(self) -> str:
        """``"npu:0"`` or ``"sim:0"``."""
        return str(self._shared.target)

    @property
    def growable(self) -> bool:
        """Whether it may ask the device for more."""
        return self._shared.sizes.growable

    @property
    def closed(self) -> bool:
        """Whether ``close()`` was called, or the device is closed; sessions may still use the memory."""
        return self._closed or self._shared.pool.closed

    def stats(self, *, pinned: bool = False) -> PoolStats:
        """All numbers at one moment.

        Parameters
        ----------
        pinned : bool
            Those of the pinned host memory.
        """
        return self._native(pinned).stats()

    def owners(self, *, pinned: bool = False) -> tuple[OwnerUsage, ...]:
        """Who holds memory, those with the most first: ``"weights of resnet50"``."""
        return self._native(pinned).owners()

    def trim(self, *, pinned: bool = False) -> int:
        """Give back what nobody uses, except what was taken at once; blocks.

        Returns
        -------
        int
            Bytes given back.
        """
        return self._native(pinned).trim()

    def start_recording(self, most_events: int = 1_000_000) -> None:
        """Record requests and frees of device memory from now on, up to `most_events`."""
        self._shared.pool.start_recording(most_events)

    def stop_recording(self) -> str:
        """Return the history, a line each: ``"+ 1 4096"`` a first block of 4096 bytes, ``"- 1"`` its end."""
        return self._shared.pool.stop_recording()

    def close(self) -> None:
        """Let go of the memory; idempotent, blocks. Sessions that use it go on with it.

        Raises
        ------
        AclError
            The device could not be given back.
        """
        if not self._made or self._process != os.getpid():
            return
        self._closed = True
        self._unclosed.detach()
        self._use.release()

    def close_at_exit(self, seconds: float) -> None:
        """Close at the interpreter's end; called by itself."""
        self.close()

    def __enter__(self) -> MemoryPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise CopyError("a memory pool is a device's memory in this process, and cannot be copied or pickled")

    def __repr__(self) -> str:
        stats = self.stats()
        state = ", closed" if self.closed else "" if self.growable else ", fixed"
        return (
            f"<MemoryPool of {self.device}: {readable_size(stats.active_bytes)} of "
            f"{readable_size(stats.reserved_bytes)} in use{state}>"
        )

    def _repr_html_(self) -> str:
        from ascend_infer.html import pool_html

        return pool_html(repr(self), (self.stats(), self.stats(pinned=True)), self.owners())

    @contextmanager
    def borrowed(self) -> Iterator[None]:
        """Keep the device open for a while, whoever closes the pool meanwhile.

        Raises
        ------
        ClosedError
        """
        from ascend_infer.backends.acl_device import share_device

        if self._closed:
            raise ClosedError(f"the memory pool of {self.device} is closed; make another one")
        use = share_device(self._shared)
        try:
            yield
        finally:
            use.release()

    def _native(self, pinned: bool) -> NativePool:
        return self._shared.pinned if pinned else self._shared.pool


def pools_of(model: Any) -> dict[str, MemoryPool]:
    """Return the pool of each device that a loaded model is on, by the device's name."""
    return {device: MemoryPool.of(shared) for device, shared in getattr(model, "shared_devices", {}).items()}


@contextmanager
def in_use(pools: Sequence[MemoryPool], devices: Sequence[DeviceTarget]) -> Iterator[None]:
    """Keep a session's pools open while it is loaded.

    Raises
    ------
    ClosedError
        One is closed.
    InvalidOptionError
        They are not of the devices that the session runs on.
    """
    if pools:
        given = [pool.device for pool in pools]
        wanted = [str(device) for device in devices]
        if set(given) != set(wanted) or len(set(given)) != len(given):
            raise InvalidOptionError(
                f"memory_pool: got {'pools' if len(given) > 1 else 'a pool'} of {', '.join(given)}, and the model runs "
                f"on {', '.join(wanted)}; give one pool for each device, or device={given[0]!r}",
                option="memory_pool",
                got=", ".join(given),
            )
    with ExitStack() as held:
        for pool in pools:
            held.enter_context(pool.borrowed())
        yield


def _warn(device: str) -> None:
    warnings.warn(
        f"the memory pool of {device} was dropped without close(); use `with MemoryPool(...)`",
        UnclosedResourceWarning,
        stacklevel=2,
    )


def _check(
    nbytes: object, limit_bytes: object, pinned_bytes: object, growable: object, pinned_growable: object
) -> None:
    named = {"nbytes": nbytes, "limit_bytes": limit_bytes, "pinned_bytes": pinned_bytes}
    for option, value in named.items():
        if value is None and option != "nbytes":
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**62:
            raise wrong_option(option, value, f"bytes as a whole number from 1 to {2**62 - 1}")
    if not growable and limit_bytes is not None:
        raise InvalidOptionError(
            "limit_bytes: a pool that is not growable has no other limit than nbytes; leave one of both out",
            option="limit_bytes",
            got=limit_bytes,
        )
    if not pinned_growable and pinned_bytes is None:
        raise InvalidOptionError(
            "pinned_growable: False needs pinned_bytes, all that there is to be",
            option="pinned_growable",
            got=pinned_growable,
        )
