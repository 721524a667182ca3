"""Which device a session runs on: what was asked for, what is there, and why the choice fell as it did."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache

from ascend_infer.backends.base import DeviceTarget
from ascend_infer.errors import (
    AscendInferError,
    DeviceNotFoundError,
    InvalidOptionError,
    LibraryNotFoundError,
)

__all__ = ["DeviceChoice", "choose_device"]

_FORM = re.compile(r"(auto|cpu|npu|sim)(?::(\d{1,3}))?")

Tried = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """A device and the reason for it.

    Attributes
    ----------
    requested : str
        As asked for, ``"auto"`` included.
    target : DeviceTarget
    reason : str
        Half a sentence for the log.
    """

    requested: str
    target: DeviceTarget
    reason: str

    @property
    def named(self) -> bool:
        """Whether one device was asked for by its number."""
        return ":" in self.requested

    def count(self) -> int:
        """Return how many devices of this kind there are; blocks while the runtime is asked."""
        from ascend_infer.backends.acl_device import open_library

        return 1 if self.target.kind == "cpu" else open_library(self.target).device_count()


def choose_device(requested: str = "auto") -> DeviceChoice:
    """Settle on a device; never falls back from one that was named.

    Parameters
    ----------
    requested : str
        ``"auto"``, ``"cpu"``, ``"npu"``, ``"npu:1"``, ``"sim"``, ``"sim:1"``. For ``"auto"`` the environment
        variable ``ASCEND_INFER_DEVICE`` is asked first; else it is the first NPU when a real libascendcl loads and
        counts one, and the CPU otherwise. The simulator is only ever taken by name.

    Raises
    ------
    InvalidOptionError
        No such device name.
    DeviceNotFoundError
        A named device is not there; ``tried`` lists where it was looked for.

    Notes
    -----
    Blocks while a library is loaded the first time. Nothing is loaded for ``"cpu"``.
    """
    asked, source = requested, "device"
    if requested == "auto" and os.environ.get("ASCEND_INFER_DEVICE"):
        asked, source = os.environ["ASCEND_INFER_DEVICE"], "the environment variable ASCEND_INFER_DEVICE"
    form = _FORM.fullmatch(asked) if isinstance(asked, str) else None
    if form is None or (form[1] in ("auto", "cpu") and form[2]):
        raise InvalidOptionError(
            f"{source}: got {asked!r}, expected 'auto', 'cpu', 'npu', 'npu:N', 'sim' or 'sim:N'",
            option="device",
            got=asked,
        )
    kind, index = form[1], int(form[2] or 0)
    if kind == "cpu":
        return DeviceChoice(asked, DeviceTarget(), "asked for")
    if kind == "sim":
        return DeviceChoice(asked, _simulator(asked, index), "asked for")
    libraries, tried = _search()
    if kind == "auto":
        why = _why_no_npu(libraries)
        if why is None:
            return DeviceChoice(asked, DeviceTarget("npu", 0, libraries), f"{libraries[0]} counts an NPU")
        return DeviceChoice(asked, DeviceTarget(), why)
    if not libraries:
        places = "".join(f"\n  {step}: {reason}" for step, reason in tried)
        raise DeviceNotFoundError(
            f"device {asked!r}: there is no libascendcl here. It was looked for in this order:{places}\n"
            "`ascend-infer doctor` says more; device='cpu' runs model.onnx, device='sim' a simulated NPU",
            device=asked,
            tried=tried,
        )
    _check_count(asked, index, libraries, tried)
    return DeviceChoice(asked, DeviceTarget("npu", index, libraries), "asked for")


@cache
def _search() -> tuple[tuple[str, ...], Tried]:
    from ascend_infer.doctor.environment import Environment
    from ascend_infer.doctor.search import search_acl_library

    environment = Environment.current()
    search = search_acl_library(environment)
    libraries = search.libraries(environment) if search.path else ()
    return libraries, tuple((step.step, step.reason) for step in search.steps)


def _count(libraries: tuple[str, ...]) -> int:
    from ascend_infer.backends.acl_device import open_library

    return open_library(DeviceTarget("npu", 0, libraries)).device_count()


def _why_no_npu(libraries: tuple[str, ...]) -> str | None:
    """Return why ``auto`` does not take an NPU, None when it does."""
    if not libraries:
        return "no libascendcl was found"
    try:
        return None if _count(libraries) else f"{libraries[0]} counts no device"
    except (AscendInferError, ImportError) as error:
        return f"{libraries[0]} is there and does not work: {str(error).splitlines()[0]}"


def _check_count(asked: str, index: int, libraries: tuple[str, ...], tried: Tried) -> None:
    try:
        count = _count(libraries)
    except (AscendInferError, ImportError) as error:
        raise DeviceNotFoundError(
            f"device {asked!r}: {libraries[0]} was found and does not work: {error}\n`ascend-infer doctor` says more",
            device=asked,
            tried=tried,
        ) from error
    if index >= count:
        raise DeviceNotFoundError(
            f"device {asked!r}: {libraries[0]} counts {count} device{'s' if count != 1 else ''}; `ascend-infer doctor` "
            "says what may hide the others",
            device=asked,
            tried=tried,
        )


def _simulator(asked: str, index: int) -> DeviceTarget:
    from ascend_infer.simulator.control import use_default_machine

    try:
        library = use_default_machine()
        from ascend_infer import _native

        count = _native.open_acl_library(library, (), global_symbols=False).device_count()
    except (LibraryNotFoundError, ImportError) as error:
        raise DeviceNotFoundError(f"device {asked!r}: {error}", device=asked) from error
    if index >= count:
        raise DeviceNotFoundError(
            f"device {asked!r}: the simulated machine has {count} device{'s' if count != 1 else ''}; "
            "simulator.Simulator(SimulatorOptions(devices=...)) gives it more",
            device=asked,
        )
    return DeviceTarget("sim", index, (library,))
