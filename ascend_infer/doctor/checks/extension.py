"""Is the compiled part of this package here, and does it fit this Python?"""

from __future__ import annotations

from ascend_infer.doctor.compiled_parts import (
    EXTENSION,
    ExtensionState,
    build_command,
    extension_file,
    extension_state,
)
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_extension"]


def check_extension(examination: Examination) -> Finding:
    """Ask importlib for the extension without loading it."""
    package = examination.environment.package_path
    evidence = [Evidence("package", str(package))]
    state = extension_state(package)
    if state is ExtensionState.PRESENT:
        evidence.append(Evidence("extension", str(extension_file(package))))
        return Finding("extension", Verdict.OK, f"{EXTENSION} is built for this Python", tuple(evidence))
    others = sorted(
        path.name for path in package.glob("_native.*") if path.suffix in (".so", ".pyd", ".dylib")
    )
    evidence += [Evidence("built for another Python", name) for name in others]
    what = "was built for another Python or platform" if others else "is not built"
    summary = f"{EXTENSION} {what}: sessions run on the CPU only, not on an NPU or the simulator"
    # Models on the CPU do without.
    needed = (
        examination.npu_expected
        or examination.device_count > 0
        or examination.device.startswith("sim")
        or examination.onnxruntime_version is None
    )
    verdict = Verdict.PROBLEM if needed else Verdict.WARNING
    return Finding("extension", verdict, summary, tuple(evidence), (build_command(package),))
