"""A simulated card that an application under test runs on, checked at its end."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import Any

from ascend_infer.errors import AscendInferError, InvalidOptionError
from ascend_infer.lifetime import open_sessions
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel

__all__ = ["SimulatedNpu", "simulator_options"]


class SimulatedNpu:
    """The simulated machine as the device of whatever runs in its ``with`` block.

    Inside the block ``device="auto"`` means ``"sim"`` (``ASCEND_INFER_DEVICE`` is set), so that an application needs
    no word about tests. The end raises when something is left on the card, or when the program did what a card would
    have punished; a block that raises itself is not checked. Sessions that are still open on the card are closed then,
    so that one test's leak is not the next one's failure.

    Parameters
    ----------
    options : SimulatorOptions, optional
    cache : path-like, optional
        Folder for models that are compiled for it (``ASCEND_INFER_CACHE`` inside the block), unless the variable is
        set already; the user's own cache where left out.
    default_device : bool
        False leaves ``ASCEND_INFER_DEVICE`` alone.

    Raises
    ------
    LibraryNotFoundError
        The package was installed without its compiled parts.
    InvalidOptionError
        The options cannot be used.
    RuntimeError
        Another simulated machine runs in this process.
    AssertionError
        At the end; says what was left or done.

    Notes
    -----
    One at a time in a process, and environment variables are the process's: for one test at a time.
    """

    def __init__(
        self,
        options: SimulatorOptions | None = None,
        *,
        cache: str | os.PathLike[str] | None = None,
        default_device: bool = True,
    ) -> None:
        self._simulator = Simulator(options)
        self._set = {"ASCEND_INFER_DEVICE": "sim"} if default_device else {}
        if cache is not None and not os.environ.get("ASCEND_INFER_CACHE"):
            self._set["ASCEND_INFER_CACHE"] = os.fspath(Path(cache))
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> Simulator:
        self._simulator.__enter__()
        self._before = {name: os.environ.get(name) for name in self._set}
        os.environ.update(self._set)
        return self._simulator

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        try:
            if kind is None and (problems := self._problems()):
                # What only a cycle holds is no leak: the collector frees it.
                gc.collect()
                if problems := self._problems():
                    raise AssertionError("the simulated NPU: " + "; ".join(problems))
        finally:
            for session in open_sessions():
                if session.device.startswith("sim"):
                    with suppress(AscendInferError):
                        session.close()
            self._simulator.close()

    def _problems(self) -> list[str]:
        if (devices := _devices()) is not None:
            devices.close_unused()
        stats = self._simulator.stats()
        left = {
            "models": stats.models,
            "pinned blocks": stats.pinned_blocks,
            "device allocations": sum(device.allocations for device in stats.devices),
            "events": sum(device.events for device in stats.devices),
            "streams": stats.handles.get("stream", 0),
        }
        problems = [f"{count} {what} left" for what, count in left.items() if count]
        return problems + [f"{what} ({count} times)" for what, count in stats.violations.items()]


def _devices() -> Any:
    """The module of open devices, if anything has been opened; it needs the extension."""
    return sys.modules.get("ascend_infer.backends.acl_device")


def simulator_options(**options: Any) -> SimulatorOptions:
    """Return the simulator's options from what a test writes.

    Parameters
    ----------
    **options
        Fields of :class:`~ascend_infer.simulator.SimulatorOptions`. ``time`` may be a mapping of
        :class:`~ascend_infer.simulator.TimeModel`'s fields, ``faults`` a list of entries.

    Raises
    ------
    InvalidOptionError
        No such option; says which are near.

    Examples
    --------
    >>> simulator_options(hbm_bytes=64 << 20, time={"compute_item_us": 500}).time.compute_item_us
    500
    """
    _check_names(options, SimulatorOptions)
    if isinstance(time := options.get("time"), Mapping):
        _check_names(time, TimeModel)
        options["time"] = TimeModel(**time)
    if isinstance(faults := options.get("faults"), list | tuple):
        options["faults"] = "; ".join(faults)
    return SimulatorOptions(**options)


def _check_names(given: Mapping[str, Any], kind: type[SimulatorOptions] | type[TimeModel]) -> None:
    known = [field.name for field in fields(kind)]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            said = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise InvalidOptionError(f"{kind.__name__} has no option {name!r}; {said}", option=name, got=name)
