"""Is the simulator's library in this package?"""

from __future__ import annotations

from ascend_infer.doctor.compiled_parts import build_command, simulator_library
from ascend_infer.doctor.elf import ElfError, read_shared_object
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_simulator"]


def check_simulator(examination: Examination) -> Finding:
    """Look for the library and whether it was built for this machine."""
    package = examination.environment.package_path
    path = simulator_library(package)
    wanted = examination.device.startswith("sim")
    if path is None:
        verdict = Verdict.PROBLEM if wanted else Verdict.NOT_APPLICABLE
        if examination.environment.system != "Linux":
            return Finding("simulator", verdict, "the simulator is built on Linux only")
        remedy = (build_command(package),) if wanted else ()
        return Finding("simulator", verdict, "the simulator is not built", (), remedy)
    evidence = (Evidence("library", str(path)),)
    arch = examination.environment.arch
    try:
        machine = read_shared_object(path).machine
        reason = None if machine == arch else f"it was built for {machine}"
    except (ElfError, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    if reason:
        summary = f"the simulator cannot be used: {reason}"
        verdict = Verdict.PROBLEM if wanted else Verdict.WARNING
        return Finding("simulator", verdict, summary, evidence, (build_command(package),))
    summary = 'the simulator\'s library is here, for device="sim" and `ascend-infer simulate`'
    return Finding("simulator", Verdict.OK, summary, evidence)
