"""The search for libascendcl: steps in a fixed order, each finds it or says why it did not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ascend_infer.doctor.cann_root import ACL_LIBRARIES, find_cann_roots
from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.loader_path import find_library, stub_reason

__all__ = ["SEARCH_STEPS", "LibrarySearch", "StepResult", "search_acl_library"]

#: Either of them starts the search's answer: the facade, or the runtime half where there is no facade.
_ENTRY_LIBRARIES = ("libascendcl.so", "libacl_rt.so")


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one step of the search came to.

    Attributes
    ----------
    step : str
        ``"ASCEND_INFER_ACL_LIBRARY"``, ``"already loaded"``, ``"CANN installations"`` or
        ``"linker's default"``.
    path : str or None
        The library, an inner path.
    reason : str
        How it was found, or why it was not.
    stubs : tuple of str
        Stub libraries that this step refused.
    ends_search : bool
        The user named a library that will not do: nothing else is tried in its place.
    """

    step: str
    path: str | None
    reason: str
    stubs: tuple[str, ...] = ()
    ends_search: bool = False


@dataclass(frozen=True, slots=True)
class LibrarySearch:
    """Every step that was taken; the last one found the library if any did."""

    steps: tuple[StepResult, ...]

    @property
    def path(self) -> str | None:
        """The library, None when there is none."""
        return self.steps[-1].path if self.steps else None

    @property
    def found_via(self) -> str | None:
        """The step that found it."""
        return self.steps[-1].step if self.path else None

    @property
    def stubs(self) -> tuple[str, ...]:
        """Stub libraries that were refused on the way."""
        return tuple(dict.fromkeys(stub for step in self.steps for stub in step.stubs))

    def libraries(self, environment: Environment) -> tuple[str, ...]:
        """Return the files that make up the C API, the one found first, as symbols are looked up."""
        if self.path is None:
            return ()
        folder, _, own = self.path.rpartition("/")
        others = [name for name in ("libascendcl.so", "libacl_mdl.so", "libacl_rt.so") if name != own]
        if own not in ACL_LIBRARIES:
            others = []
        beside = [f"{folder}/{name}" for name in others if environment.is_file(f"{folder}/{name}")]
        return (self.path, *beside)


def search_acl_library(environment: Environment) -> LibrarySearch:
    """Take the steps in order until one finds the library or ends the search."""
    taken: list[StepResult] = []
    for step in SEARCH_STEPS:
        taken.append(step(environment))
        if taken[-1].path or taken[-1].ends_search:
            break
    return LibrarySearch(tuple(taken))


def _named_by_user(environment: Environment) -> StepResult:
    step = "ASCEND_INFER_ACL_LIBRARY"
    value = environment.variables.get(step)
    if not value:
        return StepResult(step, None, "not set")
    paths = [value] if not environment.is_dir(value) else [f"{value}/{name}" for name in _ENTRY_LIBRARIES]
    for path in paths:
        if not environment.is_file(path):
            continue
        stub = stub_reason(environment, path)
        if stub:
            return StepResult(step, None, f"{path} is a stub: {stub}", (path,), ends_search=True)
        return StepResult(step, path, f"named by {step}")
    return StepResult(
        step, None, f"{value} {environment.why_no_file(value, _ENTRY_LIBRARIES)}", ends_search=True
    )


def _already_loaded(environment: Environment) -> StepResult:
    step = "already loaded"
    maps = environment.read_text("/proc/self/maps", 4 << 20) or ""
    paths = dict.fromkeys(
        match.group(1)
        for match in re.finditer(r"(/\S*/lib(?:ascendcl|acl_rt)\.so[.\d]*)$", maps, re.MULTILINE)
    )
    for path in paths:
        stub = stub_reason(environment, path)
        if stub:
            return StepResult(step, None, f"{path} is a stub: {stub}", (path,))
        return StepResult(step, path, "another library of this process has loaded it")
    return StepResult(step, None, "nothing in this process has loaded it")


def _in_cann_roots(environment: Environment) -> StepResult:
    step = "CANN installations"
    roots = find_cann_roots(environment)
    stubs: list[str] = []
    for root in roots:
        for folder in root.library_dirs:
            for name in _ENTRY_LIBRARIES:
                path = f"{folder}/{name}"
                if not environment.is_file(path):
                    continue
                if stub_reason(environment, path):
                    stubs.append(path)
                    continue
                return StepResult(step, path, f"in {root.path} ({root.origin})", tuple(stubs))
    if not roots:
        return StepResult(step, None, "no CANN is installed in any of its usual places")
    names = ", ".join(root.path for root in roots)
    what = "only stubs in" if stubs else "no libascendcl.so or libacl_rt.so in lib64 of"
    return StepResult(step, None, f"{what} {names}", tuple(stubs))


def _on_linker_path(environment: Environment) -> StepResult:
    step = "linker's default"
    stubs: list[str] = []
    for name in _ENTRY_LIBRARIES:
        for path, directory in find_library(environment, name):
            if stub_reason(environment, path):
                stubs.append(path)
                continue
            return StepResult(step, path, f"in {directory.path} ({directory.origin})", tuple(stubs))
    if stubs:
        return StepResult(step, None, f"only stubs: {', '.join(stubs)}", tuple(stubs))
    return StepResult(step, None, "not in LD_LIBRARY_PATH, ld.so.conf or the default folders")


#: The order is the native loader's own.
SEARCH_STEPS: tuple[Callable[[Environment], StepResult], ...] = (
    _named_by_user,
    _already_loaded,
    _in_cann_roots,
    _on_linker_path,
)
