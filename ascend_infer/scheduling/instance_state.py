"""One copy of a model in the scheduler's books."""

from __future__ import annotations

from typing import Literal

from ascend_infer._native import Lane
from ascend_infer.types import ModelInstance

__all__ = ["InstanceState"]


class InstanceState:
    """One copy of the model, in the scheduler's books.

    Attributes
    ----------
    name : str
    device : str
    slots : int
        Batches that it runs at the same time.
    busy : int
        Slots that run now.
    state : {"READY", "RELOADING", "UNAVAILABLE"}
    reason : str
        Why it is out of service for good: its device is lost, or it cannot be loaded any more.
    hanging : set of Lane
        Those whose threads are in a run that was given up.
    device_hangs : bool
        Whether the device goes on with a batch that was given up.
    """

    __slots__ = ("busy", "device", "device_hangs", "hanging", "name", "reason", "slots", "state")

    def __init__(self, name: str, device: str, slots: int) -> None:
        self.name = name
        self.device = device
        self.slots = slots
        self.busy = 0
        self.state: Literal["READY", "RELOADING", "UNAVAILABLE"] = "READY"
        self.reason = ""
        self.hanging: set[Lane] = set()
        self.device_hangs = False

    def seen(self) -> ModelInstance:
        """Return what a session shows of it now."""
        state = self.state
        if state == "READY":
            reason = ""
        elif state == "RELOADING":
            reason = "a device fault has ended it, and it is being loaded anew"
        else:
            reason = self.reason or "a run that nobody waits for any more goes on"
        return ModelInstance(self.name, self.device, self.slots, state, reason)
