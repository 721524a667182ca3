"""What an ACL error code means when a machine is being set up: its name, the cause, the way out."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Symptom", "symptom_of"]


@dataclass(frozen=True, slots=True)
class Symptom:
    """A code's name in the headers, its usual cause here, and what to do."""

    code: int
    name: str
    cause: str
    remedy: str


_PLOG = "grep -h '\\[ERROR\\]' ~/ascend/log/debug/plog/*.log | tail"
_KNOWN = {
    item.code: item
    for item in (
        Symptom(100001, "ACL_ERROR_UNINITIALIZE", "aclInit has failed before", _PLOG),
        Symptom(
            100039,
            "ACL_ERROR_COMPILING_STUB_MODE",
            "a stub library, meant for linking only, was loaded",
            "# take every folder called devlib or stub out of LD_LIBRARY_PATH",
        ),
        Symptom(
            107001,
            "ACL_ERROR_RT_INVALID_DEVICEID",
            "the device id is too high, ASCEND_RT_VISIBLE_DEVICES renumbers the cards, or the driver is not "
            "loaded",
            "npu-smi info",
        ),
        Symptom(107002, "ACL_ERROR_RT_CONTEXT_NULL", "no device was set on this thread", _PLOG),
        Symptom(
            145019,
            "ACL_ERROR_GE_PLGMGR_PATH_INVALID",
            "LD_LIBRARY_PATH lacks CANN's lib64 and plugin folders",
            "source <CANN>/set_env.sh",
        ),
        Symptom(
            148049,
            "ACL_ERROR_INVALID_OPP_PATH",
            "ASCEND_OPP_PATH is not set or wrong",
            "source <CANN>/set_env.sh",
        ),
        Symptom(
            207000,
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
            "the driver is older than this CANN, or the card cannot do it",
            "npu-smi info   # compare the driver's version with CANN's release notes",
        ),
        Symptom(
            207001,
            "ACL_ERROR_RT_MEMORY_ALLOCATION",
            "the card's memory is full",
            "npu-smi info   # shows which process holds it",
        ),
        Symptom(
            207004,
            "ACL_ERROR_RT_NO_DEVICE",
            "no device is visible: none in this container, or ASCEND_RT_VISIBLE_DEVICES names none that is "
            "there",
            "ls -l /dev/davinci*; echo $ASCEND_RT_VISIBLE_DEVICES",
        ),
        Symptom(
            207006,
            "ACL_ERROR_RT_NO_PERMISSION",
            "this user may not use the card",
            "sudo usermod -a -G HwHiAiUser $USER   # then log in again",
        ),
        Symptom(
            500000,
            "ACL_ERROR_INTERNAL_ERROR",
            "from aclInit: the chip's name cannot be read, there is no device or no driver",
            "npu-smi info",
        ),
        Symptom(
            507008,
            "ACL_ERROR_RT_SOC_VERSION",
            "the driver or its devices cannot be seen, as in containers without /dev nodes",
            "ls -l /dev/davinci*; npu-smi info",
        ),
        Symptom(507010, "ACL_ERROR_RT_LOST_HEARTBEAT", "the device is lost", "npu-smi info"),
        Symptom(
            507033,
            "ACL_ERROR_RT_DEV_SETUP_ERROR",
            "the device would not start: driver and CANN do not match, its memory is full, or another "
            "container holds it",
            "npu-smi info   # who holds the card; compare the driver's version with CANN's release notes",
        ),
        Symptom(
            507899,
            "ACL_ERROR_RT_DRV_INTERNAL_ERROR",
            "the driver failed: its version does not match CANN's, or permissions",
            "npu-smi info",
        ),
        Symptom(507901, "ACL_ERROR_RT_SOCKET_CLOSE", "the device is lost", "npu-smi info"),
    )
}
_KINDS = {1: "wrong use or environment", 2: "resources", 3: "storage", 5: "inside CANN or the hardware"}
_MODULES = {0: "ACL", 48: "ACL", 7: "runtime", 45: "GE"}


def symptom_of(code: int) -> Symptom:
    """Return what is known of a code; an unknown one is told by its digits (kind, then module)."""
    known = _KNOWN.get(code)
    if known is not None:
        return known
    kind = _KINDS.get(code // 100000, "unknown kind")
    module = _MODULES.get(code // 1000 % 100, "unknown module")
    return Symptom(code, f"error {code}", f"{kind}, reported by {module}", _PLOG)
