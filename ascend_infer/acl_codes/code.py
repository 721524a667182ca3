"""One ACL code and what is known of it; unknown ones are told by their digits."""

from __future__ import annotations

from dataclasses import dataclass, field

from ascend_infer.errors import (
    AclError,
    AclInternalError,
    AclResourceError,
    AclTimeoutError,
    AclUsageError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    HostOutOfMemoryError,
)

__all__ = ["DEVICE_LOG", "AclCode", "unknown_code"]

#: What to look at where nothing better is known.
DEVICE_LOG = "look at the newest [ERROR] lines below ~/ascend/log/debug/plog (or ASCEND_PROCESS_LOG_PATH)"

_KINDS = {
    1: ("usage", "wrong use or environment", AclUsageError),
    2: ("resource", "resources are missing or used up", AclResourceError),
    3: ("business", "a condition of the application", AclError),
    5: ("internal", "inside CANN, the driver or the hardware", AclInternalError),
}
_MODULES = {0: "ACL", 48: "ACL", 7: "runtime", 45: "GE"}
_CLASSES: dict[str, type[AclError]] = {
    "device-memory": DeviceOutOfMemoryError,
    "host-memory": HostOutOfMemoryError,
    "lost": DeviceLostError,
    "timeout": AclTimeoutError,
}
_REBUILD = "compile the model again with this machine's CANN for its chip, and check that it was copied whole"


@dataclass(frozen=True, slots=True)
class AclCode:
    """What is known of one code.

    Attributes
    ----------
    number : int
    name : str
        As CANN's headers name it, ``"ACL_ERROR_RT_NO_DEVICE"``; ``"ACL error 107999"`` for one they do not.
    cause : str
        One sentence, without a full stop.
    remedy : str
        What to do, likewise.
    command : str
        What to type when the machine is being set up; empty where no command helps.
    marks : frozenset of str
        ``"retryable"``: the same call may succeed later. ``"fault"``: the instance cannot go on.
        ``"lost"``: nor can anything else on the device. ``"model"``: the model file does not do.
        ``"chip"``: it may be one for another chip.
        ``"timeout"``, ``"device-memory"``, ``"host-memory"``: the kind of error.
    known : bool
        Whether CANN's headers have the code.
    """

    number: int
    name: str
    cause: str
    remedy: str
    command: str = ""
    marks: frozenset[str] = field(default=frozenset())
    known: bool = True

    @property
    def kind(self) -> str:
        """``"usage"``, ``"resource"``, ``"business"``, ``"internal"`` by the first digit, or ``"unknown"``."""
        return _KINDS.get(self.number // 100_000, ("unknown", "", AclError))[0]

    @property
    def module(self) -> str:
        """Who reports it by the next two digits: ``"ACL"``, ``"runtime"``, ``"GE"``, or ``"unknown"``."""
        return _MODULES.get(self.number // 1000 % 100, "unknown")

    @property
    def error_class(self) -> type[AclError]:
        """The exception that stands for it."""
        for mark, cls in _CLASSES.items():
            if mark in self.marks:
                return cls
        return _KINDS.get(self.number // 100_000, ("", "", AclError))[2]

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later, without a change to program or model."""
        return "retryable" in self.marks


def default_remedy(number: int, marks: frozenset[str]) -> str:
    """Return the remedy of a code that has none of its own, by its kind."""
    if "model" in marks:
        return _REBUILD
    if "fault" in marks:
        return f"the instance has to be loaded again; for the cause {DEVICE_LOG}"
    if number // 100_000 == 1:
        return f"this is a wrong call: report it unless your program calls ACL itself, and {DEVICE_LOG}"
    return DEVICE_LOG


def unknown_code(number: int) -> AclCode:
    """Return what the digits of a code tell that is in no header."""
    kind = _KINDS.get(number // 100_000, ("", "an unknown kind of error", AclError))[1]
    module = _MODULES.get(number // 1000 % 100, "an unknown module")
    return AclCode(number, f"ACL error {number}", f"{kind}, reported by {module}", DEVICE_LOG, known=False)
