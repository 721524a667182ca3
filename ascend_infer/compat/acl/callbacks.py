"""Python functions that the library calls: from a stream (``launch_callback``), and after a failure on the device."""

from __future__ import annotations

import ctypes
import itertools
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ascend_infer.compat.acl.binding import Call

__all__ = ["ExceptionCallback", "StreamCallbacks"]

_Function = ctypes.CFUNCTYPE(None, ctypes.c_size_t)


class StreamCallbacks:
    """``acl.rt.launch_callback``: what is waiting to be called, each called once.

    Parameters
    ----------
    launch : callable
        ``aclrtLaunchCallback``.
    """

    def __init__(self, launch: Call) -> None:
        self._launch = launch
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[Callable[[Any], Any], Any]] = {}
        self._entry = _Function(self._called)
        self._address = ctypes.cast(self._entry, ctypes.c_void_p).value

    def __call__(self, function: Callable[[Any], Any], arguments: Any, block: int, stream: int) -> int:
        """Queue ``function(arguments)``; the thread that serves the stream calls it. Returns the code."""
        if not callable(function):
            raise TypeError("parameter must be callable")
        number = next(self._numbers)
        self._waiting[number] = (function, arguments)
        code: int = self._launch(self._address, number, block, stream)
        if code != 0:
            self._waiting.pop(number, None)
        return code

    def _called(self, number: int) -> None:
        function, arguments = self._waiting.pop(number)
        try:
            function(arguments)
        except Exception:
            traceback.print_exc(file=sys.stderr)  # the stream goes on, as it does with pyACL


class ExceptionCallback:
    """``acl.rt.set_exception_info_callback``: one function for the process, None for none."""

    def __init__(self, register: Call) -> None:
        self._register = register
        self._function: Callable[[int], Any] | None = None
        self._entry = _Function(self._called)
        self._address = ctypes.cast(self._entry, ctypes.c_void_p).value

    def __call__(self, function: Callable[[int], Any] | None = None) -> int:
        """Have ``function(info)`` called after a task failed; returns the code."""
        if function is not None and not callable(function):
            raise TypeError("acl.rt.set_exception_info_callback args parse failed")
        self._function = function
        code: int = self._register(0 if function is None else self._address)
        return code

    def _called(self, info: int) -> None:
        function = self._function
        if function is None:
            return
        try:
            function(info)
        except Exception:
            traceback.print_exc(file=sys.stderr)
