"""The chip of this machine, asked for in a child process."""

from __future__ import annotations

from ascend_infer.doctor.bounded_process import Deadline
from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.prober import Prober

__all__ = ["soc_of_this_machine"]

_TIME_LIMIT = 9.0


def soc_of_this_machine(environment: Environment, *, time_limit: float = _TIME_LIMIT) -> str | None:
    """Return what ``aclrtGetSocName`` says, None where there is no device that answers.

    Blocks for at most ``time_limit`` seconds. Not for a process that is running inference: it starts a child.
    """
    prober = Prober(environment, Deadline(time_limit))
    answer = Examination(environment, prober).runtime_answer
    name = answer.value("aclrtGetSocName", "soc") if answer is not None else None
    return str(name) if name else None
