"""What an ACL error code means when a machine is being set up: its name, the cause, what to type."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_infer.acl_codes import code_of

__all__ = ["Symptom", "symptom_of"]

_PLOG = "grep -h '\\[ERROR\\]' ~/ascend/log/debug/plog/*.log | tail"


@dataclass(frozen=True, slots=True)
class Symptom:
    """A code's name in the headers, its usual cause here, and the command to type."""

    code: int
    name: str
    cause: str
    remedy: str


def symptom_of(code: int) -> Symptom:
    """Return what is known of a code; an unknown one is told by its digits (kind, then module)."""
    known = code_of(code)
    return Symptom(code, known.name, known.cause, known.command or _PLOG)
