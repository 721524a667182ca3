"""Is the simulator's library in this package?"""

from __future__ import annotations

from ascend_infer.doctor.compiled_parts import simulator_library
from ascend_infer.doctor.elf import ElfError, read_shared_object
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_simulator"]


def check_simulator(examination: Examination) -> Finding:
    """Look for the library and whether it was built for this machine."""
    path = simulator_library(examination.environment.package_path)
    if path is None:
        return Finding("simulator", Verdict.NOT_APPLICABLE, "the simulator is not built into this version")
    evidence = (Evidence("library", str(path)),)
    arch = examination.environment.arch
    try:
        machine = read_shared_object(path).machine
        reason = None if machine == arch else f"it was built for {machine}"
    except (ElfError, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    if reason:
        remedy = ("pip install --force-reinstall --no-cache-dir ascend-infer",)
        summary = f"the simulator cannot be used: {reason}"
        return Finding("simulator", Verdict.WARNING, summary, evidence, remedy)
    return Finding("simulator", Verdict.OK, "the simulator's library is here", evidence)
