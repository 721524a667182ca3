"""pyACL's ``acl`` over this library's own binding: pyACL programs on the simulator, or on a card without ``acl.so``.

    from ascend_infer.compat import acl

    ret = acl.init()
    device_ptr, ret = acl.rt.malloc(1024, 0)

Names, arguments, results and the GIL are pyACL's: handles and addresses are ``int``, nothing raises for an error of
ACL, and only waiting calls let other threads run. What is covered is in ``names.py``; docs/pyacl.md says what is not.

Programs that say ``import acl`` run unchanged after :func:`install`, or by
``python -m ascend_infer.compat.acl --device sim program.py``.

Importing this loads no library. The first function that is used does: the one of ``ASCEND_INFER_DEVICE``
(``sim`` takes the simulator), else the libascendcl that is found.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ascend_infer.errors import InvalidOptionError

__all__ = ["install", "open_face", "uninstall"]

_PARTS = ("rt", "mdl", "util")


def open_face(device: str | None = None) -> ModuleType:
    """Return the module ``acl`` for a device's library, without installing it.

    Parameters
    ----------
    device : {"npu", "sim"}, optional
        Left out: ``ASCEND_INFER_DEVICE``, else the libascendcl that is found.

    Raises
    ------
    DeviceNotFoundError, LibraryError
        There is no such library, or it cannot be loaded.
    InvalidOptionError

    Notes
    -----
    Loads the library the first time, for good; the same module comes back for the same library.
    """
    from ascend_infer.compat.acl.face import face_of
    from ascend_infer.compat.acl.library import find_libraries

    return face_of(find_libraries(device))


def install(device: str | None = None) -> ModuleType:
    """Have ``import acl`` give this module from now on; returns it. ``device`` as in :func:`open_face`.

    Raises
    ------
    InvalidOptionError
        Another ``acl`` is imported already: CANN's own, or this one over another library.
    """
    from ascend_infer.compat.acl.face import Face

    face = open_face(device)
    assert isinstance(face, Face)
    there = sys.modules.get("acl")
    if there is not None and there is not face:
        where = getattr(there, "__file__", None) or repr(there)
        raise InvalidOptionError(
            f"acl is imported already, from {where}: install before the program imports it",
            option="acl",
            got=where,
        )
    sys.modules.update(face.modules())
    return face


def uninstall() -> None:
    """Undo :func:`install`: ``import acl`` looks for CANN's again. References that were taken go on working."""
    from ascend_infer.compat.acl.face import Face

    face = sys.modules.get("acl")
    if isinstance(face, Face):
        for name in face.modules():
            sys.modules.pop(name, None)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ascend_infer.compat.acl.names import TABLES

    if name not in _PARTS and name not in TABLES["acl"][1]:
        raise AttributeError(f"acl.{name} is not among the functions of {__name__}")
    return getattr(open_face(), name)


def __dir__() -> list[str]:
    from ascend_infer.compat.acl.names import TABLES

    return sorted({*globals(), *_PARTS, *TABLES["acl"][1]})
