"""The table of every code, read from the lists beside this file.

A list is text: a line with the number, the name without ``ACL_ERROR_`` and marks; below it, indented, the
cause, then ``>`` what to do and ``$`` what to type, where something better than the kind's default is known.
Numbers, names and meanings are those of CANN's headers acl_base_rt.h, rt_error_codes.h and
ge_error_codes.h; advice is from CANN's error code reference, in our words.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ascend_infer.acl_codes.acl_layer import ACL_LAYER
from ascend_infer.acl_codes.code import AclCode, default_remedy, unknown_code
from ascend_infer.acl_codes.graph_engine import GRAPH_ENGINE
from ascend_infer.acl_codes.runtime_calls import RUNTIME_CALLS
from ascend_infer.acl_codes.runtime_device import RUNTIME_DEVICE

__all__ = ["acl_codes", "code_of"]

_LISTS = (ACL_LAYER, RUNTIME_CALLS, RUNTIME_DEVICE, GRAPH_ENGINE)


@cache
def acl_codes() -> Mapping[int, AclCode]:
    """Return every known code by its number, ascending."""
    found = {code.number: code for text in _LISTS for code in _read(text)}
    return MappingProxyType(dict(sorted(found.items())))


def code_of(number: int) -> AclCode:
    """Return what is known of a code; an unknown one is told by its digits."""
    known = acl_codes().get(number)
    return unknown_code(number) if known is None else known


def _read(text: str) -> list[AclCode]:
    codes = []
    for block in text.strip("\n").replace("\n  ", "\0").split("\n"):
        head, *lines = block.split("\0")
        number, name, *marks = head.split()
        told = dict.fromkeys(("cause", ">", "$"), "")
        for line in lines:
            sign = line[0] if line[0] in ">$" else "cause"
            told[sign] = line if sign == "cause" else line[2:]
        found = frozenset(marks)
        codes.append(
            AclCode(
                number=int(number),
                name=f"ACL_ERROR_{name}",
                cause=told["cause"],
                remedy=told[">"] or default_remedy(int(number), found),
                command=told["$"],
                marks=found,
            )
        )
    return codes
