"""Starts probes and reads their answers; a crash, a hang or garbage is an answer too."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_infer.doctor.bounded_process import Deadline, ProcessOutcome, run_bounded
from ascend_infer.doctor.environment import Environment

__all__ = ["ProbeAnswer", "ProbeLimits", "ProbeStep", "Prober"]

# The package's own folder goes to the end of the child's module path: it is found even when the parent found
# it in its current folder, and nothing beside it hides the standard library.
_BOOTSTRAP = (
    "import sys, runpy; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module('ascend_infer.doctor.probe', run_name='__main__', alter_sys=True)"
)
_STDERR_LINES = 6


@dataclass(frozen=True, slots=True)
class ProbeLimits:
    """Seconds that a child may take.

    Attributes
    ----------
    start : float
        Until its first line: the interpreter's own start.
    step : float
        For one step, so that a hanging one is named.
    """

    start: float = 3.0
    step: float = 4.0


@dataclass(frozen=True, slots=True)
class ProbeStep:
    """One step of a probe: its name, whether it came to an end and well, what it reported."""

    name: str
    ended: bool
    ok: bool
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What a probe came to.

    Attributes
    ----------
    steps : tuple of ProbeStep
    broke : str or None
        How the child itself went wrong (crash, hang, garbage, no start), None when it ran to its end.
    stderr : str
        The last lines that its libraries printed.
    out_of_time : bool
        It hung, or there was no time to start it: a longer limit might give another answer.
    """

    steps: tuple[ProbeStep, ...]
    broke: str | None
    stderr: str
    out_of_time: bool = False

    def step(self, name: str) -> ProbeStep | None:
        """Return a step by name, None when the probe did not get there."""
        return next((step for step in self.steps if step.name == name), None)

    def value(self, name: str, key: str) -> Any:
        """Return what a step reported, None when it did not."""
        step = self.step(name)
        return step.values.get(key) if step else None

    @property
    def failed_step(self) -> ProbeStep | None:
        """The first step that did not end well."""
        return next((step for step in self.steps if not step.ok), None)


class Prober:
    """Runs the probes of one examination under one deadline.

    Parameters
    ----------
    environment : Environment
    deadline : Deadline
    limits : ProbeLimits
    command : tuple of str or None
        What to run in place of this package's probe; the probe's kind and its request are added.

    Notes
    -----
    Not for threads. A fork or spawn while an asynchronous copy of ACL is in flight is not allowed (CANN's
    constraints): a process that is running inference must not examine itself meanwhile.
    """

    def __init__(
        self,
        environment: Environment,
        deadline: Deadline,
        limits: ProbeLimits | None = None,
        command: tuple[str, ...] | None = None,
    ) -> None:
        self.environment = environment
        self.deadline = deadline
        self.limits = limits or ProbeLimits()
        self._command = command

    def probe(self, kind: str, **request: Any) -> ProbeAnswer:
        """Run one probe; blocks for at most its limits and what is left of the deadline."""
        command = self._command or self._own_command()
        if command is None:
            return ProbeAnswer((), "could not be started: this Python does not know its own program", "")
        outcome = self._run([*command, kind, json.dumps(request)])
        return _read_answer(outcome, self.limits, self.deadline)

    def run_tool(self, *arguments: str) -> ProcessOutcome:
        """Run another program of the machine under examination; blocks as `probe` does."""
        return self._run(list(arguments))

    def _run(self, arguments: list[str]) -> ProcessOutcome:
        return run_bounded(
            arguments,
            self._child_variables(),
            self.deadline,
            first_output_limit=self.limits.start,
            idle_limit=self.limits.step,
        )

    def _own_command(self) -> tuple[str, ...] | None:
        if not self.environment.executable:
            return None
        folder = str(Path(__file__).resolve().parents[2])
        return (self.environment.executable, "-P", "-c", _BOOTSTRAP, folder)

    def _child_variables(self) -> dict[str, str]:
        variables = dict(self.environment.variables)
        if not self.environment.is_whole_machine and variables.get("LD_LIBRARY_PATH"):
            entries = variables["LD_LIBRARY_PATH"].split(":")
            variables["LD_LIBRARY_PATH"] = ":".join(str(self.environment.locate(entry)) for entry in entries)
        return variables


def _read_answer(outcome: ProcessOutcome, limits: ProbeLimits, deadline: Deadline) -> ProbeAnswer:
    begun: list[str] = []
    ended: dict[str, ProbeStep] = {}
    finished, garbage = False, ""
    for line in outcome.stdout.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            garbage = garbage or line
        elif "begin" in message:
            begun.append(str(message["begin"]))
        elif "end" in message:
            name, ok = str(message.pop("end")), bool(message.pop("ok", False))
            ended[name] = ProbeStep(name, True, ok, message)
        elif message.get("finished") is True:
            finished = True
    steps = tuple(ended.get(name) or ProbeStep(name, False, False) for name in dict.fromkeys(begun))
    stderr = "\n".join(outcome.stderr.strip().splitlines()[-_STDERR_LINES:])
    where = f" in step {steps[-1].name!r}" if steps and not steps[-1].ended else ""
    broke = None
    if outcome.start_error:
        broke = f"could not be started: {outcome.start_error}"
    elif outcome.timed_out:
        spent = ", the time for all probes was spent" if deadline.remaining <= 0 else ""
        broke = f"hung{where or ' before its first step'} and was killed after {outcome.seconds:.1f} s{spent}"
    elif outcome.signal:
        broke = f"crashed with {outcome.signal}{where}"
    elif garbage:
        broke = f"answered garbage: {garbage[:120]!r}"
    elif not finished:
        broke = f"left{where} with exit code {outcome.exit_code} and no answer"
    out_of_time = outcome.timed_out or (outcome.start_error is not None and deadline.remaining <= 0)
    return ProbeAnswer(steps, broke, stderr, out_of_time)
