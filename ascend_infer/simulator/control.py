"""Starting, steering and asking the simulator inside this process."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import threading
import time
from dataclasses import replace
from types import TracebackType
from typing import Any

from ascend_infer.errors import ClosedError, InvalidOptionError, MissingDependencyError
from ascend_infer.simulator.library import library_path, onnxruntime_path
from ascend_infer.simulator.options import SimulatorOptions
from ascend_infer.simulator.spawn_watch import watch_spawns
from ascend_infer.simulator.stats import SimulatorStats

__all__ = ["Simulator", "use_default_machine"]

#: Seconds that devices which are being given back are waited for.
_PATIENCE = 2.0

_lock = threading.Lock()
_current: Simulator | None = None


def _devices() -> Any:
    """The module of open devices, if anything has been opened; what is none of this package's needs none."""
    return sys.modules.get("ascend_infer.backends.acl_device")


def _devices_in_use() -> list[str]:
    devices, lifetime = _devices(), sys.modules.get("ascend_infer.lifetime")
    if devices is None:
        return []
    deadline = time.monotonic() + _PATIENCE
    used: list[str] = devices.simulated_in_use()
    # A session that was dropped is given back by a thread.
    while used and time.monotonic() < deadline and not (lifetime and lifetime.open_sessions()):
        os.sched_yield()
        used = devices.simulated_in_use()
    return used


def _forget_devices() -> None:
    if (devices := _devices()) is not None:
        devices.forget_simulated()


class Simulator:
    """The simulated machine of this process; there is one at a time.

    Used with ``with``: the end takes everything away that is still loaded or allocated. The library itself stays in
    the process.

    Parameters
    ----------
    options : SimulatorOptions, optional
    watch_children : bool
        Report it as a violation when Python starts a child process while an asynchronous copy is in flight. The
        hook for that stays in the process and costs nothing outside of ``with``.

    Attributes
    ----------
    options : SimulatorOptions
    library : str
        Path for whatever loads an ACL library: ``ASCEND_INFER_ACL_LIBRARY``, ``ctypes.CDLL``. It is always to be
        opened RTLD_LOCAL.

    Raises
    ------
    LibraryNotFoundError
        The package has no library.
    InvalidOptionError
        The options cannot be used; the text is the library's.
    RuntimeError
        Another Simulator is running in this process, or a session or memory pool is open on a simulated card.

    Notes
    -----
    Methods are thread-safe; none blocks for longer than the lock of the library is held.
    """

    def __init__(self, options: SimulatorOptions | None = None, *, watch_children: bool = True) -> None:
        self.options = options or SimulatorOptions()
        self.library = str(library_path())
        self._watch_children = watch_children
        self._dll: Any = None

    def __enter__(self) -> Simulator:
        global _current
        options = self.options
        if not options.onnxruntime:
            # Without onnxruntime everything but its models works: the load of one says what is missing.
            with contextlib.suppress(MissingDependencyError):
                options = replace(options, onnxruntime=str(onnxruntime_path()))
        with _lock:
            if _current is not None:
                raise RuntimeError("a Simulator runs in this process already; leave its with block first")
            if used := _devices_in_use():
                raise RuntimeError(
                    f"{', '.join(used)} of the machine without options is in use: close its sessions and memory pools, "
                    "or open them inside of this with block; a Simulator begins with a machine of its own"
                )
            _forget_devices()
            dll = _open(self.library)
            dll.aclsim_reset()
            if dll.aclsim_configure(options.to_json().encode()) != 0:
                raise InvalidOptionError(
                    f"simulator options: {_error(dll)}", option="options", got=repr(self.options)
                )
            self._dll = dll
            _current = self
        if self._watch_children:
            watch_spawns(lambda: _current)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it: streams are stopped, memory, models and handles are taken away. Does nothing a second time.

        Sessions that are still open on it fail from here on, and can be closed.
        """
        global _current
        with _lock:
            dll, self._dll = self._dll, None
            if dll is None:
                return
            _forget_devices()
            dll.aclsim_reset()
            if _current is self:
                _current = None

    def stats(self) -> SimulatorStats:
        """Return what was counted since the start."""
        return SimulatorStats.from_json(_text(self._running().aclsim_report))

    def call_log(self) -> list[str]:
        """Return the calls that were kept, oldest first: ``"sequence thread function result"``."""
        return _text(self._running().aclsim_call_log).splitlines()

    def live_handles(self) -> list[str]:
        """Return every handle that was not destroyed: ``"kind address"``."""
        return _text(self._running().aclsim_live_handles).splitlines()

    def set_faults(self, plan: str) -> None:
        """Put another fault plan in force; calls are counted from the start of the simulator, not from here.

        Raises
        ------
        InvalidOptionError
            The plan cannot be read; the old one stays.
        """
        dll = self._running()
        if dll.aclsim_set_faults(plan.encode()) != 0:
            raise InvalidOptionError(_error(dll), option="faults", got=plan)

    def set_twin(self, om: bytes, onnx_path: str | os.PathLike[str]) -> None:
        """Name the ONNX model that stands for a real .om when that is loaded from memory."""
        self._running().aclsim_set_twin(om, len(om), os.fsencode(onnx_path))

    @property
    def now_ns(self) -> int:
        """The simulator's clock, in nanoseconds."""
        return int(self._running().aclsim_now())

    def advance(self, nanoseconds: int) -> None:
        """Move virtual time forward; real time it leaves alone."""
        self._running().aclsim_advance(nanoseconds)

    def note_spawn(self, how: str) -> bool:
        """Say that a child process is about to start; True (and a violation) when a copy is in flight."""
        return bool(self._running().aclsim_note_spawn(how.encode()))

    def _running(self) -> Any:
        if self._dll is None:
            raise ClosedError("the simulator is not running: use it inside its with block")
        return self._dll


def use_default_machine() -> str:
    """Make the simulated machine usable where no :class:`Simulator` runs; returns the library's path.

    Options come from ``ACLSIM_CONFIG`` then, and onnxruntime from the installed package.
    """
    library = str(library_path())
    with _lock:
        if _current is None and not os.environ.get("ACLSIM_ONNXRUNTIME"):
            with contextlib.suppress(MissingDependencyError):
                text = json.dumps({"onnxruntime": str(onnxruntime_path())})
                _open(library).aclsim_configure(text.encode())
    return library


def _open(path: str) -> Any:
    dll = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    size, text, number = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_uint64
    for name in ("aclsim_report", "aclsim_call_log", "aclsim_live_handles"):
        getattr(dll, name).argtypes, getattr(dll, name).restype = (ctypes.c_void_p, size), size
    dll.aclsim_error.restype = dll.aclsim_version.restype = text
    dll.aclsim_configure.argtypes = dll.aclsim_set_faults.argtypes = dll.aclsim_note_spawn.argtypes = (text,)
    dll.aclsim_set_twin.argtypes = (text, size, text)
    dll.aclsim_now.restype, dll.aclsim_advance.argtypes = number, (number,)
    dll.aclsim_advance.restype = None
    return dll


def _error(dll: Any) -> str:
    return str(dll.aclsim_error().decode("utf-8", "replace"))


def _text(function: Any) -> str:
    room = function(None, 0)
    while True:
        # It may have grown since it was measured.
        buffer = ctypes.create_string_buffer(room + 256)
        needed = function(buffer, len(buffer))
        if needed <= len(buffer):
            return buffer.value.decode("utf-8", "replace")
        room = needed
