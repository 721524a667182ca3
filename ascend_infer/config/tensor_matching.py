"""Which of the model's tensors each of the configuration's is.

A .om file may name an output ``node:index:tensor`` where the user knows it as ``tensor``: the full name, the
last part and, when neither is there, the position are accepted; what could be two tensors is an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_infer.config.findings import Findings
from ascend_infer.config.suggestions import quoted, similar
from ascend_infer.types import TensorSpec

__all__ = ["TensorMatch", "match_tensors", "short_names"]

_OM_OUTPUT = re.compile(r"[^:]*:\d+:(.+)")


@dataclass(frozen=True, slots=True)
class TensorMatch:
    """One tensor of the configuration (its index, -1 when it is not there) and the model's."""

    index: int
    name: str
    spec: TensorSpec


def _last_part(name: str) -> str:
    match = _OM_OUTPUT.fullmatch(name)
    return match[1] if match else name


def short_names(specs: Sequence[TensorSpec], om: bool) -> list[str]:
    """Return what each tensor is called where nobody named it: the last part of a .om name, if unique."""
    if not om:
        return [spec.name for spec in specs]
    parts = [_last_part(spec.name) for spec in specs]
    every = [*parts, *(spec.name for spec in specs)]
    return [
        part if part == spec.name or every.count(part) == 1 else spec.name
        for part, spec in zip(parts, specs, strict=True)
    ]


def match_tensors(
    kind: str, names: Sequence[str], specs: Sequence[TensorSpec], om: bool, findings: Findings
) -> list[TensorMatch]:
    """Match the configuration's names to the model's tensors; an empty name takes the tensor of its position.

    Tensors that match nothing are reported and left out.
    """
    by_name = {spec.name: spec for spec in specs}
    chosen: dict[int, TensorSpec] = {}
    for index, name in enumerate(names):
        if name in by_name:
            chosen[index] = by_name[name]
    for index, name in enumerate(names):
        if index in chosen or not name or not om:
            continue
        same = [spec for spec in specs if _last_part(spec.name) == name]
        if len(same) == 1:
            chosen[index] = same[0]
        elif same:
            findings.error(
                f"{kind}[{index}].name",
                f"'{name}' could be {len(same)} of the model's {kind}s",
                got=f"'{name}'",
                expected=f"one of the full names {quoted(spec.name for spec in same)}",
            )
            return []
    taken = {spec.name for spec in chosen.values()}
    matches = []
    for index, name in enumerate(names):
        spec = chosen.get(index)
        if spec is None and (om or not name) and len(names) == len(specs):
            here = specs[index]
            if here.name not in taken:
                taken.add(here.name)
                spec = here
                if name:
                    findings.warning(
                        f"{kind}[{index}].name",
                        f"the model has no {kind} '{name}'; by its position it is '{here.name}'",
                    )
        if spec is None:
            _unknown(kind, index, name, names, specs, om, findings)
            continue
        matches.append(TensorMatch(index, name or short_names(specs, om)[specs.index(spec)], spec))
    _twice(kind, matches, findings)
    return matches


def _unknown(
    kind: str,
    index: int,
    name: str,
    names: Sequence[str],
    specs: Sequence[TensorSpec],
    om: bool,
    findings: Findings,
) -> None:
    known = short_names(specs, om)
    if not name:
        findings.error(
            f"{kind}[{index}]",
            f"model {kind} must specify 'name': which of the model's {len(specs)} it is cannot be told",
            expected=f"one of {quoted(known)}",
        )
        return
    free = [option for option in known if option not in names]
    meant = similar(name, free) or (free[0] if len(free) == 1 and len(specs) == len(names) else None)
    findings.error(
        f"{kind}[{index}].name",
        f"unexpected inference {kind} '{name}'",
        got=f"'{name}'",
        expected=f"one of the model's {kind}s {quoted(known)}",
        hint=f"did you mean '{meant}'?" if meant else None,
    )


def _twice(kind: str, matches: list[TensorMatch], findings: Findings) -> None:
    seen: dict[str, TensorMatch] = {}
    for match in matches:
        first = seen.setdefault(match.spec.name, match)
        if first is not match:
            findings.error(
                f"{kind}[{match.index}].name",
                f"'{first.name}' and '{match.name}' are the same {kind} '{match.spec.name}' of the model",
            )
