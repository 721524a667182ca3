"""Instances that a device fault has ended: loaded anew while others serve, or out of service for good."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ascend_infer._native import Lane, RequestQueue
from ascend_infer.errors import AscendInferError, ClosedError, DeviceLostError
from ascend_infer.scheduling.instance_state import InstanceState

__all__ = ["Recovery"]

logger = logging.getLogger("ascend_infer")


class Recovery:
    """Brings faulted instances of one model back.

    Parameters
    ----------
    lanes : sequence of Lane
        All of the model.

    Notes
    -----
    The queue gives a faulted instance no work until it is told to. What is queued waits for it where there is no
    other instance.
    """

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = lanes

    def run(self, queue: RequestQueue, lane: Lane) -> None:
        """Load a lane's instance anew; blocks, never raises. Called on the lane's own thread."""
        instance = lane.instance
        instance.state = "RELOADING"
        try:
            lane.executable.recover()
        except DeviceLostError as error:
            reason = f"device {instance.device} is lost: {_first_line(error)}"
            for other in {id(lane.instance): lane.instance for lane in self._lanes}.values():
                if other.device == instance.device:
                    self._retire(queue, other, reason)
            logger.error("%s; the instances on it are out of service", reason)
        except ClosedError:
            queue.resume(instance)  # whoever comes hears of it
        except (AscendInferError, MemoryError) as error:
            if any(lane.usable and lane.instance is not instance for lane in self._lanes):
                reason = f"{instance.name} on {instance.device} cannot be loaded anew: {_first_line(error)}"
                self._retire(queue, instance, reason)
                logger.error("%s; it is out of service", reason)
            else:
                # The only one: each batch tries again, and tells its requests why it failed.
                logger.error("%s: not loaded anew after a device fault: %s", instance.name, error)
                instance.state = "READY"
                queue.resume(instance)
        else:
            logger.info("%s: loaded anew after a device fault", instance.name)
            instance.state = "READY"
            queue.resume(instance)

    def _retire(self, queue: RequestQueue, instance: InstanceState, reason: str) -> None:
        instance.reason, instance.state = reason, "UNAVAILABLE"  # who sees the state finds the reason
        for lane in self._lanes:
            if lane.instance is instance:
                queue.retire(lane)


def _first_line(error: BaseException) -> str:
    # What the runtime adds below was told to the requests that failed.
    return (str(error) or type(error).__name__).splitlines()[0]
