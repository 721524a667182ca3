"""Is the compiled part of this package here, and does it fit this Python?"""

from __future__ import annotations

from ascend_infer.doctor.compiled_parts import EXTENSION, ExtensionState, extension_file, extension_state
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_extension"]

_REINSTALL = "pip install --force-reinstall --no-cache-dir ascend-infer"


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
    if state is ExtensionState.NOT_IN_THIS_VERSION and not others:
        summary = "the NPU backend is not built into this version"
        return Finding("extension", Verdict.NOT_APPLICABLE, summary, tuple(evidence))
    what = "was built for another Python or platform" if others else "is missing from the installed package"
    return Finding("extension", Verdict.PROBLEM, f"{EXTENSION} {what}", tuple(evidence), (_REINSTALL,))
