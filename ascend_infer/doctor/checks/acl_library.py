"""Does the ACL C library load, is it a real one, and does it have what is needed?"""

from __future__ import annotations

import re

from ascend_infer.doctor.cann_root import ACL_LIBRARIES, RUNTIME_LIBRARIES, root_of, version_of
from ascend_infer.doctor.driver import HAL_LIBRARY
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.doctor.library_chain import LibraryChain, follow_chain
from ascend_infer.doctor.loader_path import find_library, stub_reason
from ascend_infer.doctor.prober import ProbeAnswer
from ascend_infer.doctor.symbols import REQUIRED, library_half

__all__ = ["check_acl_library"]

_CHECK = "acl_library"
_NO_STUBS = "# take every folder called devlib or stub out of LD_LIBRARY_PATH"
_SHOWN = 8


def check_acl_library(examination: Examination) -> Finding:
    """Search the library, follow what it needs, and load it in a child process."""
    search, environment = examination.search, examination.environment
    evidence = [
        Evidence(step.step, f"{step.path}, {step.reason}" if step.path else step.reason)
        for step in search.steps
    ]
    answer = examination.library_answer
    if search.path is None or answer is None:
        return _not_found(examination, evidence)
    chain = _whole_chain(examination)
    evidence += [
        Evidence("missing from the chain", f"{missing.name}, needed by {missing.needed_by}")
        for missing in chain.missing[:_SHOWN]
    ]
    evidence += [Evidence("cannot be loaded", f"{item.path}: {item.reason}") for item in chain.unreadable]
    stubs = [path for path in search.libraries(environment) if stub_reason(environment, path)]
    stubs += [
        places[0][0]
        for name in (*ACL_LIBRARIES, "libruntime.so")
        if (places := find_library(environment, name)) and stub_reason(environment, places[0][0])
    ]
    mapped = [environment.inner(path) for path in answer.value("list loaded libraries", "mapped") or ()]
    stubs += [path for path in mapped if stub_reason(environment, path)]
    evidence += [Evidence("stub", path) for path in dict.fromkeys(stubs)]

    failure = _load_failure(examination, answer, chain, evidence)
    if failure is not None:
        return failure
    if stubs:
        summary = f"stub libraries stand first on the loader's path: {', '.join(dict.fromkeys(stubs))}"
        remedy = (_NO_STUBS, examination.set_env_command())
        return Finding(_CHECK, examination.library_severity, summary, tuple(evidence), remedy)
    missing = [name for name in answer.value("look up functions", "missing") or () if name in REQUIRED]
    if missing:
        return _functions_missing(examination, missing, evidence)
    versions = {
        version_of(environment, root_of(path)): path
        for path in mapped
        if path.rsplit("/", 1)[-1].partition(".so")[0] + ".so" in RUNTIME_LIBRARIES
    }
    versions.pop(None, None)
    if len(versions) > 1:
        evidence += [Evidence(f"loaded, of {version}", path) for version, path in versions.items()]
        summary = f"libraries of several CANN versions were loaded together: {', '.join(map(str, versions))}"
        remedy = ("# begin from a clean shell: unset LD_LIBRARY_PATH", examination.set_env_command())
        return Finding(_CHECK, examination.library_severity, summary, tuple(evidence), remedy)
    if examination.library_is_simulator:
        return _simulator(examination, evidence)
    loaded = " + ".join(path.rsplit("/", 1)[-1] for path in search.libraries(environment))
    return Finding(_CHECK, Verdict.OK, f"{loaded} loads: {search.path}", tuple(evidence))


def _simulator(examination: Examination, evidence: list[Evidence]) -> Finding:
    remedy = ("# the simulator stands on the loader's path, as `ascend-infer simulate` puts it there",)
    if examination.search.found_via == "ASCEND_INFER_ACL_LIBRARY":
        remedy = ('unset ASCEND_INFER_ACL_LIBRARY   # device="sim" finds the simulator by itself',)
    return Finding(
        _CHECK,
        examination.library_severity,
        f"{examination.search.path} is the simulator, which no session takes for an NPU",
        tuple(evidence),
        remedy,
    )


def _whole_chain(examination: Examination) -> LibraryChain:
    chains = [
        follow_chain(examination.environment, path)
        for path in examination.search.libraries(examination.environment)
    ]
    return LibraryChain(
        found=tuple(dict.fromkeys(path for chain in chains for path in chain.found)),
        missing=tuple({item.name: item for chain in chains for item in chain.missing}.values()),
        unreadable=tuple(dict.fromkeys(item for chain in chains for item in chain.unreadable)),
    )


def _not_found(examination: Examination, evidence: list[Evidence]) -> Finding:
    search = examination.search
    last = search.steps[-1]
    if last.ends_search:
        return Finding(
            _CHECK,
            examination.library_severity,
            f"{last.step}: {last.reason}",
            tuple(evidence),
            ("unset ASCEND_INFER_ACL_LIBRARY   # or name a real libascendcl.so",),
        )
    if search.stubs:
        return Finding(
            _CHECK,
            examination.library_severity,
            f"only stub libraries were found, which cannot run anything: {', '.join(search.stubs)}",
            tuple(evidence),
            (_NO_STUBS, "# and install CANN's runtime (nnrt is enough) if there is none"),
        )
    if examination.absence is Verdict.NOT_APPLICABLE:
        return Finding(_CHECK, Verdict.NOT_APPLICABLE, "no libascendcl.so here", tuple(evidence))
    return Finding(
        _CHECK,
        Verdict.PROBLEM,
        "libascendcl.so (or libacl_rt.so) is in none of the places searched",
        tuple(evidence),
        (examination.set_env_command(), "# or: export ASCEND_INFER_ACL_LIBRARY=/path/to/libascendcl.so"),
    )


def _load_failure(
    examination: Examination, answer: ProbeAnswer, chain: LibraryChain, evidence: list[Evidence]
) -> Finding | None:
    """Return a finding when the child could not load the libraries."""
    severity = examination.library_severity
    if answer.broke:
        evidence.append(Evidence("child process", answer.broke))
        if answer.stderr:
            evidence.append(Evidence("its last words", answer.stderr))
        again = f"LD_DEBUG=libs python -c \"import ctypes; ctypes.CDLL('{examination.search.path}')\""
        summary = f"loading it in a child process {answer.broke}"
        return Finding(_CHECK, severity, summary, tuple(evidence), (again,))
    failed = answer.failed_step
    if failed is None:
        return None
    words = str(failed.values.get("error", ""))
    evidence.append(Evidence("loader", words))
    names = [item.name for item in chain.missing]
    match = re.search(r"(lib[^\s:/]+\.so[^\s:]*): cannot open shared object", words)
    if match and match.group(1) not in names:
        names.insert(0, match.group(1))
    if names:
        summary = f"it does not load: {', '.join(names[:_SHOWN])} missing from the chain of libraries"
    else:
        summary = f"it does not load: {words}"
    remedy = [examination.set_env_command()]
    if HAL_LIBRARY in names:
        remedy.insert(0, f"# {HAL_LIBRARY} is the driver's: install it, or mount /usr/local/Ascend/driver")
    if "undefined symbol" in words:
        remedy.insert(
            0, "# libraries of two CANN versions are mixed: begin from a clean shell, unset LD_LIBRARY_PATH"
        )
    if "GLIBC" in words:
        remedy = ["# this system's C library is older than the one CANN was built for", "ldd --version"]
    return Finding(_CHECK, severity, summary, tuple(evidence), tuple(remedy))


def _functions_missing(examination: Examination, missing: list[str], evidence: list[Evidence]) -> Finding:
    files = [path.rsplit("/", 1)[-1] for path in examination.search.libraries(examination.environment)]
    halves = {library_half(name) for name in missing}
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    evidence.append(Evidence("missing functions", ", ".join(missing[:_SHOWN]) + more))
    if halves == {"libacl_mdl.so"} and "libacl_mdl.so" not in files:
        folder = str(examination.search.path).rsplit("/", 1)[0]
        return Finding(
            _CHECK,
            examination.library_severity,
            f"models cannot run: libacl_mdl.so is not in {folder}; CANN 8.5 and later put it into the "
            "package ge-executor",
            tuple(evidence),
            ("# install CANN's ge-executor package of the same version into the same place",),
        )
    return Finding(
        _CHECK,
        examination.library_severity,
        f"{len(missing)} required functions are missing, so this is no whole ACL library: {missing[0]} ...",
        tuple(evidence),
        (examination.set_env_command(),),
    )
