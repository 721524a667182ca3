"""What is wrong with this machine, and what to type: ``ascend-infer doctor``.

`examine` runs every check of `CHECKS`, each with a verdict, its evidence and a remedy. Whatever may crash or
hang happens in child processes under one time limit. Nothing is changed, nothing is loaded into the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.doctor.search import SEARCH_STEPS, LibrarySearch, StepResult, search_acl_library

if TYPE_CHECKING:
    from ascend_infer.doctor.checks import CHECKS
    from ascend_infer.doctor.diagnosis import examine
    from ascend_infer.doctor.report import Report

__all__ = [
    "CHECKS",
    "SEARCH_STEPS",
    "Environment",
    "Evidence",
    "Finding",
    "LibrarySearch",
    "Report",
    "StepResult",
    "Verdict",
    "examine",
    "search_acl_library",
]

#: Imported at first use: sessions come here for the search alone.
_LATER = {
    "CHECKS": "ascend_infer.doctor.checks",
    "Report": "ascend_infer.doctor.report",
    "examine": "ascend_infer.doctor.diagnosis",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
