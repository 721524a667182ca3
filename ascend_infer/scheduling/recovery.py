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
            self._lose(queue, instance.device, error)
        except ClosedError:
            queue.resume(instance)  # whoever comes hears of it
        except (AscendInferError, MemoryError) as error:
            if any(other.usable and other.instance is not instance for other in self._lanes):
                self._retire(
                    queue, instance, f"{instance.name} on {instance.device} cannot be loaded anew: {error}"
                )
            else:
                # The only one: each batch tries again, and tells its requests why it failed.
                logger.error("%s: not loaded anew after a device fault: %s", instance.name, error)
                instance.state = "READY"
                queue.resume(instance)
        else:
            logger.warning("%s: loaded anew after a device fault", instance.name)
            instance.state = "READY"
            queue.resume(instance)

    def _lose(self, queue: RequestQueue, device: str, error: DeviceLostError) -> None:
        for instance in {id(lane.instance): lane.instance for lane in self._lanes}.values():
            if instance.device == device and not instance.reason:
                self._retire(queue, instance, f"device {device} is lost: {error}")

    def _retire(self, queue: RequestQueue, instance: InstanceState, reason: str) -> None:
        instance.state, instance.reason = "UNAVAILABLE", reason
        logger.error("%s; out of service", reason)
        for lane in self._lanes:
            if lane.instance is instance:
                queue.retire(lane)
