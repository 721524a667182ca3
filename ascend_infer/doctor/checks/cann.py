"""Is one CANN installed, and does the environment name that one and no other?"""

from __future__ import annotations

from ascend_infer.doctor.cann_root import RUNTIME_LIBRARIES, CannRoot, root_of, version_of
from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.doctor.loader_path import loader_directories, stub_reason

__all__ = ["check_cann"]

_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH", "LD_LIBRARY_PATH")
_PLUGIN_FOLDERS = ("lib64/plugin/opskernel", "lib64/plugin/nnengine")


def check_cann(examination: Examination) -> Finding:
    """Compare ASCEND_HOME_PATH, ASCEND_OPP_PATH and LD_LIBRARY_PATH with what is installed."""
    environment, roots = examination.environment, examination.roots
    variables = environment.variables
    evidence = [
        Evidence("installed", f"{root.path}, version {root.version or 'unknown'} ({root.origin})")
        for root in roots
    ]
    evidence += [Evidence(name, variables.get(name) or "not set") for name in _VARIABLES]
    home = variables.get("ASCEND_HOME_PATH", "").rstrip("/")
    complaints: list[str] = []
    if home and not environment.is_dir(home):
        complaints.append(f"ASCEND_HOME_PATH names {home}, which is not there")
    if not roots and not complaints:
        if examination.absence is Verdict.NOT_APPLICABLE:
            return Finding("cann", Verdict.NOT_APPLICABLE, "no CANN is installed", tuple(evidence))
        return Finding(
            "cann",
            Verdict.PROBLEM,
            "no CANN is installed in any of its usual places",
            tuple(evidence),
            (
                "# install CANN (its nnrt package is enough to run models), or name where it is:",
                "source <CANN>/set_env.sh",
            ),
        )
    if roots and not home:
        complaints.append("ASCEND_HOME_PATH is not set: set_env.sh was not sourced")
    used = next((root for root in roots if root.path == home), roots[0] if roots else None)
    operators = _opp_complaints(environment, used) if used is not None else []
    complaints += operators
    if used is not None and home:
        complaints += _loader_path_complaints(environment, used)
    mixtures = _mixture_complaints(environment, used)
    complaints += mixtures
    if not complaints:
        assert used is not None
        summary = f"CANN {used.version or 'of unknown version'} in {used.path}"
        return Finding("cann", Verdict.OK, summary, tuple(evidence))
    evidence[:0] = [Evidence("also", text) for text in complaints[1:]]
    remedy = [examination.set_env_command()]
    if any("mixed" in text for text in complaints):
        remedy.insert(0, "# begin from a clean shell: unset LD_LIBRARY_PATH ASCEND_HOME_PATH ASCEND_OPP_PATH")
    severity = examination.severity
    if examination.device_count and not (operators or mixtures):
        severity = Verdict.WARNING  # a card was used all the same, as a library found by its RPATH can
    return Finding("cann", severity, complaints[0], tuple(evidence), tuple(remedy))


def _opp_complaints(environment: Environment, used: CannRoot) -> list[str]:
    opp = environment.variables.get("ASCEND_OPP_PATH", "").rstrip("/")
    if not opp:
        return ["ASCEND_OPP_PATH is not set: models with operators from there fail with 148049"]
    if not environment.is_dir(opp):
        return [f"ASCEND_OPP_PATH names {opp}, which is not there: models fail with 148049"]
    version = version_of(environment, root_of(opp))
    if version and used.version and version != used.version:
        return [f"versions are mixed: {used.path} is {used.version}, ASCEND_OPP_PATH is {version} ({opp})"]
    return []


def _loader_path_complaints(environment: Environment, used: CannRoot) -> list[str]:
    on_path = {environment.resolve(directory.path) for directory in loader_directories(environment)}
    wanted = [*used.library_dirs[:1], *(f"{used.path}/{folder}" for folder in _PLUGIN_FOLDERS)]
    absent = [
        folder
        for folder in wanted
        if environment.is_dir(folder) and environment.resolve(folder) not in on_path
    ]
    return [f"LD_LIBRARY_PATH lacks {', '.join(absent)}"] if absent else []


def _mixture_complaints(environment: Environment, used: CannRoot | None) -> list[str]:
    """Find folders on the loader's path whose CANN has another version than the one in use."""
    found: dict[str, str] = {}
    for directory in loader_directories(environment):
        names = (f"{directory.path.rstrip('/')}/{name}" for name in RUNTIME_LIBRARIES)
        library = next((name for name in names if environment.is_file(name)), None)
        if library is None or stub_reason(environment, library):
            continue
        real = environment.resolve(library)
        version = version_of(environment, root_of(directory.path)) or version_of(environment, root_of(real))
        if version:
            found.setdefault(version, directory.path)
    if used is not None and used.version:
        found = {used.version: found.pop(used.version, used.path)} | found
    if len(found) < 2:
        return []
    places = ", ".join(f"{version} in {path}" for version, path in found.items())
    return [f"versions of CANN are mixed: {places}"]
