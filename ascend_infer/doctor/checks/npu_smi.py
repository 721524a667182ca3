"""Does the driver's own tool see healthy cards, and who else uses them?"""

from __future__ import annotations

import re

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_npu_smi"]

_TOOLS = ("/usr/local/sbin/npu-smi", "/usr/local/bin/npu-smi", "/usr/sbin/npu-smi", "/usr/bin/npu-smi")
# | 0     910B3               | OK            | 96.5        38                0    / 0             |
_CARD = re.compile(r"^\|\s*(\d+)\s+([A-Za-z]?\S*\d\S*)\s*\|\s*([A-Za-z]+)\s*\|", re.MULTILINE)
# | 0                         | 0000:C1:00.0  | 0           0    / 0          3161 / 65536         |
_CHIP = re.compile(
    r"^\|[\s\d]+\|\s*[0-9A-Fa-f]{4}:[0-9A-Fa-f:.]+\s*\|.*?(\d+)\s*/\s*(\d+)\s*\|\s*$", re.MULTILINE
)
# | 0       0                 | 12345         | python                   | 1024                    |
_PROCESS = re.compile(r"^\|\s*(\d+)\s+\d+\s*\|\s*(\d+)\s*\|\s*([^|]*?)\s*\|\s*(\d+)\s*\|\s*$", re.MULTILINE)
_FULL = 0.9


def check_npu_smi(examination: Examination) -> Finding:
    """Run ``npu-smi info`` and read its table as far as it is the known one."""
    environment = examination.environment
    tool = next((path for path in _TOOLS if environment.is_file(path)), None)
    if tool is None:
        if examination.nodes.any:
            summary = "npu-smi is not here; it would tell health and memory"
            mounts = (
                "-v /usr/local/sbin/npu-smi:/usr/local/sbin/npu-smi:ro -v /usr/local/dcmi:/usr/local/dcmi:ro"
            )
            remedy = (f"# in a container: docker run {mounts} ...",)
            return Finding("npu_smi", Verdict.WARNING, summary, (), remedy)
        return Finding("npu_smi", Verdict.NOT_APPLICABLE, "npu-smi is not installed")
    outcome = examination.prober.run_tool(str(environment.locate(environment.resolve(tool))), "info")
    evidence = [Evidence("tool", tool)]
    again = (f"{tool} info",)
    if outcome.start_error or outcome.timed_out or outcome.signal or outcome.exit_code:
        if outcome.start_error:
            how = f"could not be started: {outcome.start_error}"
        elif outcome.timed_out:
            how = f"hung and was killed after {outcome.seconds:.1f} s"
        else:
            how = f"ended with {outcome.signal or f'exit code {outcome.exit_code}'}"
        words = (outcome.stdout.strip() or outcome.stderr.strip()).splitlines()[:5]
        evidence += [Evidence("output", line) for line in words]
        return Finding("npu_smi", examination.severity, f"npu-smi info {how}", tuple(evidence), again)

    table, _, processes_table = outcome.stdout.partition("Process id")
    cards = _CARD.findall(table)
    memory = [(int(used), int(total)) for used, total in _CHIP.findall(table)]
    processes = _PROCESS.findall(processes_table)
    evidence += [Evidence(f"NPU {number}", f"{name}, health {health}") for number, name, health in cards]
    evidence += [
        Evidence(f"chip {index}", f"{used} of {total} MB used") for index, (used, total) in enumerate(memory)
    ]
    evidence += [
        Evidence(f"process {pid}", f"{name} holds {held} MB of NPU {number}")
        for number, pid, name, held in processes
    ]
    if not cards:
        return Finding(
            "npu_smi",
            Verdict.WARNING,
            "npu-smi answers, but its table is of another form",
            tuple(evidence),
            again,
        )
    ill = [f"NPU {number} ({name}) is {health}" for number, name, health in cards if health.upper() != "OK"]
    if ill:
        return Finding(
            "npu_smi",
            examination.severity,
            "; ".join(ill),
            tuple(evidence),
            (f"{tool} info -t health -i {next(card[0] for card in cards if card[2].upper() != 'OK')}",),
        )
    full = [index for index, (used, total) in enumerate(memory) if total and used > _FULL * total]
    if full:
        holders = ", ".join(f"{name} (pid {pid})" for _, pid, name, _ in processes) or "nobody it can see"
        summary = f"memory of chip {', '.join(map(str, full))} is nearly full; held by {holders}"
        return Finding("npu_smi", Verdict.WARNING, summary, tuple(evidence), again)
    others = f", {len(processes)} other process{'es' if len(processes) > 1 else ''}" if processes else ""
    summary = f"{len(cards)} healthy chip{'s' if len(cards) > 1 else ''}{others}"
    return Finding("npu_smi", Verdict.OK, summary, tuple(evidence))
