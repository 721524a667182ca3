"""Which ACL library pyACL's names are bound to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ascend_infer.errors import DeviceNotFoundError, InvalidOptionError

if TYPE_CHECKING:
    from ascend_infer._native import AclLibrary

__all__ = ["find_libraries", "open_library"]


def find_libraries(device: str | None = None) -> tuple[str, ...]:
    """Return the files of the library, the one to open first.

    Parameters
    ----------
    device : {"npu", "sim"}, optional
        Left out, the environment variable ``ASCEND_INFER_DEVICE`` is asked; what it says of the index is for sessions.
        Without it, or with ``"auto"``, the library that ``doctor`` finds is taken. The simulator is only taken by name.

    Raises
    ------
    DeviceNotFoundError
        There is no such library; the message says where it was looked for.
    InvalidOptionError
        No device of such a name has one.

    Notes
    -----
    Initialises nothing, and counts no devices: the program does that.
    """
    asked = device or os.environ.get("ASCEND_INFER_DEVICE") or "auto"
    kind = asked.partition(":")[0]
    if kind == "sim":
        from ascend_infer.simulator.control import use_default_machine

        return (use_default_machine(),)
    if kind not in ("auto", "npu"):
        raise InvalidOptionError(
            f"acl: got device {asked!r}, which has no ACL library; expected 'npu' or 'sim'",
            option="device",
            got=asked,
        )
    from ascend_infer.doctor.environment import Environment
    from ascend_infer.doctor.search import search_acl_library

    environment = Environment.current()
    search = search_acl_library(environment)
    if not search.path:
        tried = tuple((step.step, step.reason) for step in search.steps)
        places = "".join(f"\n  {step}: {reason}" for step, reason in tried)
        raise DeviceNotFoundError(
            f"acl: there is no libascendcl here. It was looked for in this order:{places}\n"
            "ASCEND_INFER_DEVICE=sim takes the simulator",
            device=asked,
            tried=tried,
        )
    return tuple(search.libraries(environment))


def open_library(libraries: tuple[str, ...]) -> AclLibrary:
    """Load it, for good. Real CANN's symbols are made visible to its own plugins; the simulator's never are."""
    from ascend_infer import _native

    first, *others = libraries
    return _native.open_acl_library(first, others, global_symbols=True)
