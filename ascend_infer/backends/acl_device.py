"""Devices that models of this process share: opened with the first, given back with the last.

Lock order: ``_lock`` here is taken holding none of the scheduler's locks, and calls of ACL are made under it; it is
never held while a batch runs.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ascend_infer import _native
from ascend_infer.backends.base import DeviceTarget
from ascend_infer.backends.file_state import FileState
from ascend_infer.backends.pool_sizes import PoolSizes
from ascend_infer.errors import AscendInferError, ClosedError, DeviceLostError, LibraryError

__all__ = [
    "DeviceUse",
    "PoolSizes",
    "SharedDevice",
    "SharedWeights",
    "acquire_device",
    "at_exit_close",
    "close_unused",
    "forget_simulated",
    "memory_in_use",
    "open_library",
    "share_device",
]

#: Seconds that the interpreter's end waits for batches that run.
_EXIT_PATIENCE = 2.0


@dataclass
class SharedWeights:
    """One copy of a model's weights on a device, and how many instances use it."""

    block: _native.Block | None
    users: int = 0


class SharedDevice:
    """An open device with its two pools and the weights that lie in them.

    Thread safety: every method may be called from any thread.
    """

    def __init__(self, target: DeviceTarget, sizes: PoolSizes) -> None:
        self.target = target
        self.sizes = sizes
        self.users = 0
        self._weights: dict[tuple[Any, ...], SharedWeights] = {}
        library = open_library(target)
        self.device = _native.open_acl_device(library, target.index)
        try:
            self.pool = self.device.device_pool(
                pool_bytes=sizes.pool_bytes or 0, limit_bytes=sizes.limit_bytes, growable=sizes.growable
            )
            try:
                self.pinned = self.device.pinned_pool(
                    pool_bytes=sizes.pinned_pool_bytes or 0, growable=sizes.pinned_growable
                )
            except BaseException:
                self.pool.close()
                raise
        except BaseException:
            with suppress(AscendInferError):
                self.device.close()
            raise

    def weights(self, file: FileState, nbytes: int, model: str) -> tuple[tuple[Any, ...], SharedWeights]:
        """Return the block that holds a file's weights, a new one for its first user; give it back by its key."""
        key = (*file.identity, nbytes)
        with _lock:
            shared = self._weights.get(key)
            if shared is None:
                block = self.pool.allocate(nbytes, f"weights of {model}") if nbytes else None
                shared = self._weights[key] = SharedWeights(block)
            shared.users += 1
            return key, shared

    def has_weights(self, file: FileState, nbytes: int) -> bool:
        """Whether a file's weights are there already."""
        return (*file.identity, nbytes) in self._weights

    def release_weights(self, key: tuple[Any, ...]) -> None:
        """Give one use back; the last frees the block. No instance may have it loaded then."""
        with _lock:
            shared = self._weights[key]
            shared.users -= 1
            if shared.users == 0:
                del self._weights[key]
                if shared.block is not None:
                    shared.block.free()

    def release(self) -> None:
        """Give one use back. The last one closes pools and device, unless results still lie in pinned memory."""
        with _lock:
            self.users -= 1
            if self.users > 0:
                self.pool.trim()
                self.pinned.trim()
                return
            self._close_if_unused()

    def reap(self) -> None:
        """Give back what was dropped unclosed; a failure has nobody to go to but the log."""
        try:
            self.device.reap()
        except AscendInferError as error:
            logger.warning("giving back a model that was dropped on %s: %s", self.target, error)

    def _close_if_unused(self) -> None:
        self.reap()
        if self.pinned.stats().active_blocks:
            # Arrays of the application show this memory: the device stays until they are gone.
            self.pinned.trim()
            self.pool.trim()
            return
        key = (self.target.libraries, self.target.index)
        if _devices.get(key) is self:  # another simulated machine may have come with a device of this name
            del _devices[key]
        self.pool.close()
        self.pinned.close()
        try:
            self.device.close()
        except DeviceLostError as error:
            # Who used it has been told; there is nothing left to give back to.
            logger.warning("device %s is lost: %s", self.target, error)


class DeviceUse:
    """One model's hold on a device and on its weights there; all executables of the model share it.

    Dropped without :meth:`release`, it is given back by whoever opens or releases a device next.

    Attributes
    ----------
    shared : SharedDevice
    """

    def __init__(self, shared: SharedDevice) -> None:
        self.shared = shared
        self._keys: list[tuple[Any, ...]] = []
        self._dropped = weakref.finalize(self, _dropped.append, (shared, self._keys))
        self._dropped.atexit = False

    def weights(self, file: FileState, nbytes: int, model: str) -> _native.Block | None:
        """Return the block for a file's weights, None for a model without."""
        key, held = self.shared.weights(file, nbytes, model)
        self._keys.append(key)
        return held.block

    def release(self) -> None:
        """Give everything back; idempotent. The model's instances must be closed."""
        if self._dropped.detach() is not None:
            with _lock:
                _give_back(self.shared, self._keys)
                _sweep()


def _give_back(shared: SharedDevice, keys: list[tuple[Any, ...]]) -> None:
    try:
        for key in keys:
            shared.release_weights(key)
    finally:
        shared.release()


def _sweep() -> None:
    """Give back what was dropped."""
    while _dropped:
        shared, keys = _dropped.pop()
        shared.reap()
        try:
            _give_back(shared, keys)
        except AscendInferError as error:
            logger.warning("giving back a model that was dropped on %s: %s", shared.target, error)


logger = logging.getLogger("ascend_infer")

_lock = threading.RLock()
_dropped: list[tuple[SharedDevice, list[tuple[Any, ...]]]] = []
_devices: dict[tuple[tuple[str, ...], int], SharedDevice] = {}
_at_exit: weakref.WeakSet[Any] = weakref.WeakSet()
_registered = False


def open_library(target: DeviceTarget) -> _native.AclLibrary:
    """Load the library of a target; a simulator never stands in for a device."""
    first, *others = target.libraries
    # CANN's plugins look for its symbols in the whole process; the simulator keeps its own to itself.
    library = _native.open_acl_library(first, others, global_symbols=target.kind == "npu")
    if library.is_simulator and target.kind == "npu":
        raise LibraryError(
            f"{first} is the simulator, and device {str(target)!r} means a real NPU: ask for device='sim'",
            library=first,
        )
    return library


def acquire_device(target: DeviceTarget, sizes: PoolSizes, *, made: bool = False) -> DeviceUse:
    """Take hold of the device of a target, opening it for its first user; needs a ``release()``.

    Blocks; the first device of a process may take seconds.

    Parameters
    ----------
    target : DeviceTarget
    sizes : PoolSizes
    made : bool
        The pools are made by hand, and have to be of just these sizes; else what is not stated may be anything.

    Raises
    ------
    InvalidOptionError
        The device is open with pools of another size.
    LibraryError, AclError, DeviceOutOfMemoryError
        It cannot be opened.
    """
    with _lock:
        _register_exit()
        _sweep()
        key = (target.libraries, target.index)
        shared = _devices.get(key)
        if shared is not None and shared.users == 0:
            shared._close_if_unused()
            shared = _devices.get(key)
        if shared is None:
            shared = _devices[key] = SharedDevice(target, sizes)
        elif made:
            why = "by sessions or another pool" if shared.users else "results of a closed session lie in it"
            shared.sizes.refuse_making(sizes, str(target), why)
        else:
            shared.sizes.refuse_other(sizes, str(target))
        shared.reap()
        shared.users += 1
        return DeviceUse(shared)


def share_device(shared: SharedDevice) -> DeviceUse:
    """Take hold of a device that is open; needs a ``release()``.

    Raises
    ------
    ClosedError
        It is open no more.
    """
    with _lock:
        if shared.pool.closed:
            raise ClosedError(f"the memory pool of {shared.target} is closed; make another one")
        shared.users += 1
        return DeviceUse(shared)


def memory_in_use() -> dict[tuple[str, str], int]:
    """Return the bytes in use of each open device and kind of memory; for tests and diagnosis.

    Returns
    -------
    dict
        ``{("npu:0", "device memory"): 4096, ("npu:0", "pinned memory"): 0}``.
    """
    with _lock:
        _sweep()
        return {
            (str(shared.target), kind): pool.stats().active_bytes
            for shared in _devices.values()
            for kind, pool in (("device memory", shared.pool), ("pinned memory", shared.pinned))
        }


def close_unused() -> None:
    """Close the devices that stayed open for arrays of results, where those are gone."""
    with _lock:
        _sweep()
        for shared in list(_devices.values()):
            if shared.users == 0:
                shared._close_if_unused()


def simulated_in_use() -> list[str]:
    """Return the simulated devices on which a session or a memory pool is open."""
    with _lock:
        _sweep()
        return [
            str(shared.target)
            for shared in _devices.values()
            if shared.target.kind == "sim" and shared.users > 0
        ]


def forget_simulated() -> None:
    """Close the simulated devices, whoever still shows their memory: their machine ends, and another may come."""
    with _lock:
        for key, shared in list(_devices.items()):
            if shared.target.kind == "sim":
                del _devices[key]
                _quietly(shared.device.close)


def at_exit_close(model: Any) -> None:
    """Have ``model.close_at_exit(seconds)`` called when the interpreter ends, if it lives until then."""
    _at_exit.add(model)


def _register_exit() -> None:
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_end)
        os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    """Drop, in a forked child, what its parent opened: locks may be held by threads that are not there."""
    global _lock
    _lock = threading.RLock()
    _at_exit.clear()
    _devices.clear()
    _dropped.clear()


def _end() -> None:
    """Close what is open while threads still run; after this nothing of ours calls ACL."""
    # A thread may be opening a device and not come back from it.
    if _lock.acquire(timeout=_EXIT_PATIENCE):
        try:
            _close_all()
        finally:
            _lock.release()
    _native.set_exiting()


def _close_all() -> None:
    for model in list(_at_exit):
        _quietly(model.close_at_exit, _EXIT_PATIENCE)
    _quietly(_sweep)
    for shared in list(_devices.values()):
        # Where someone still runs, what he uses is the operating system's to take back.
        _quietly(shared.reap if shared.users > 0 else shared._close_if_unused)


def _quietly(action: Callable[..., object], *arguments: object) -> None:
    with suppress(Exception):
        action(*arguments)
