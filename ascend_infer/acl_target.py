"""From ``"npu:1"`` or ``"sim:0"`` to the files of an ACL library and a device of it."""

from __future__ import annotations

from typing import Literal

from ascend_infer.backends.base import DeviceTarget
from ascend_infer.errors import DeviceNotFoundError

__all__ = ["find_acl_target"]


def find_acl_target(kind: Literal["npu", "sim"], index: int = 0) -> DeviceTarget:
    """Find the library for a kind of device; loads nothing.

    For ``"npu"`` the search of ``ascend-infer doctor`` is taken, step after step; for ``"sim"`` the simulator
    that comes with the package, and never anything else.

    Raises
    ------
    DeviceNotFoundError
        No library; ``tried`` has every step of the search and why it did not do.
    LibraryNotFoundError
        The package was installed without its compiled parts.
    """
    if kind == "sim":
        from ascend_infer.simulator import library_path

        return DeviceTarget("sim", index, (str(library_path()),))
    from ascend_infer.doctor.environment import Environment
    from ascend_infer.doctor.search import search_acl_library

    environment = Environment.current()
    search = search_acl_library(environment)
    if search.path is None:
        tried = tuple((step.step, step.reason) for step in search.steps)
        places = "".join(f"\n  {step}: {reason}" for step, reason in tried)
        raise DeviceNotFoundError(
            f"device 'npu:{index}': no libascendcl was found, looked for here:{places}\n"
            "install CANN and source its set_env.sh before Python starts, or name the library in "
            "ASCEND_INFER_ACL_LIBRARY",
            device=f"npu:{index}",
            tried=tried,
        )
    return DeviceTarget("npu", index, search.libraries(environment))
