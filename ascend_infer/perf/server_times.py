"""What the model's side says of the requests: counts and sums of times, in Triton's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

__all__ = ["ServerTimes"]


@dataclass(frozen=True, slots=True)
class ServerTimes:
    """Sums over requests; two of them can be added and subtracted.

    Attributes
    ----------
    inferences : int
        Rows.
    executions : int
        Runs of the model; fewer than requests where they are batched.
    requests : int
        Successful ones.
    total_ns, queue_ns, input_ns, infer_ns, output_ns : int
        ``total_ns`` from the call to its return, the others its parts.
    """

    inferences: int = 0
    executions: int = 0
    requests: int = 0
    total_ns: int = 0
    queue_ns: int = 0
    input_ns: int = 0
    infer_ns: int = 0
    output_ns: int = 0

    @classmethod
    def of_statistics(cls, statistics: Mapping[str, Any]) -> ServerTimes:
        """Read Triton's statistics JSON (docs/protocol/extension_statistics.md) of one model."""
        totals = cls()
        for model in statistics["model_stats"]:
            parts = model["inference_stats"]
            totals += cls(
                int(model["inference_count"]),
                int(model["execution_count"]),
                int(parts["success"]["count"]),
                *(
                    int(parts[name]["ns"])
                    for name in ("success", "queue", "compute_input", "compute_infer", "compute_output")
                ),
            )
        return totals

    def __add__(self, other: ServerTimes) -> ServerTimes:
        return ServerTimes(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: ServerTimes) -> ServerTimes:
        return ServerTimes(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def mean(self, part: str) -> float:
        """Return ``queue``, ``input``, ``infer``, ``output`` or ``total`` per request, in nanoseconds."""
        return getattr(self, f"{part}_ns") / self.requests if self.requests else 0.0

    @property
    def accounted_ns(self) -> float:
        """Queue, input, model and output of a request together, in nanoseconds."""
        return sum(map(self.mean, ("queue", "input", "infer", "output")))

    @property
    def overhead_ns(self) -> float:
        """What is left of a request's time."""
        return max(0.0, self.mean("total") - self.accounted_ns)
