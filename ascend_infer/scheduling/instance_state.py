"""One copy of a model in the scheduler's books."""

from __future__ import annotations

__all__ = ["InstanceState"]


class InstanceState:
    """One copy of the model, in the scheduler's books.

    Attributes
    ----------
    name : str
    device : str
    busy : int
        Slots that run now.
    state : {"READY", "RELOADING", "UNAVAILABLE"}
    reason : str
        Why it is out of service for good: its device is lost, or it cannot be loaded any more.
    abandoned : int
        Threads that were left in a run that did not end.
    """

    __slots__ = ("abandoned", "busy", "device", "name", "reason", "state")

    def __init__(self, name: str, device: str) -> None:
        self.name = name
        self.device = device
        self.busy = 0
        self.state = "READY"
        self.reason = ""
        self.abandoned = 0
