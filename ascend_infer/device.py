"""Which device a session runs on: what was asked for, what is there, and why the choice fell as it did."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ascend_infer.errors import DeviceNotFoundError, InvalidOptionError

__all__ = ["DeviceChoice", "choose_device"]

_FORM = re.compile(r"(auto|cpu|npu|sim)(?::(\d{1,3}))?")


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """A device and the reason for it.

    Attributes
    ----------
    requested : str
        As asked for, ``"auto"`` included.
    kind : {"cpu", "npu", "sim"}
    index : int
    reason : str
        Half a sentence for the log.
    """

    requested: str
    kind: Literal["cpu", "npu", "sim"]
    index: int
    reason: str


def choose_device(requested: str = "auto") -> DeviceChoice:
    """Settle on a device; never falls back from one that was named.

    Parameters
    ----------
    requested : str
        ``"auto"``, ``"cpu"``, ``"npu"``, ``"npu:1"``, ``"sim"``, ``"sim:1"``. For ``"auto"`` the environment
        variable ``ASCEND_INFER_DEVICE`` is asked first.

    Raises
    ------
    InvalidOptionError
        No such device name.
    DeviceNotFoundError
        A named device is not there; ``tried`` lists where it was looked for.
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
    kind = form[1]
    if kind == "cpu":
        return DeviceChoice(asked, "cpu", 0, "asked for")
    if kind == "auto":
        found, _ = _search()
        why = f"{found} is there, but" if found else "no libascendcl was found, and"
        return DeviceChoice(asked, "cpu", 0, f"{why} this version runs ONNX models on the CPU only")
    found, tried = _search() if kind == "npu" else (None, ())
    places = "".join(f"\n  {step}: {reason}" for step, reason in tried)
    raise DeviceNotFoundError(
        f"device {asked!r}: this version of ascend_infer cannot run on "
        f"{'an NPU' if kind == 'npu' else 'the simulated NPU'} yet; device='cpu' runs model.onnx."
        + (f" libascendcl was looked for here:{places}" if places else ""),
        device=asked,
        tried=tried,
    )


@cache
def _search() -> tuple[str | None, tuple[tuple[str, str], ...]]:
    from ascend_infer.doctor.environment import Environment
    from ascend_infer.doctor.search import search_acl_library

    search = search_acl_library(Environment.current())
    return search.path, tuple((step.step, step.reason) for step in search.steps)
