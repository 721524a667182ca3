"""Rules of an ensemble that need its members: they exist, they can run, and their tensors fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.parse import ParsedConfig
from ascend_infer.config.scheduling_config import ModelEnsemblingStep
from ascend_infer.config.suggestions import quoted, similar
from ascend_infer.config.tensor_config import ModelInput, ModelOutput
from ascend_infer.diagnostic import Diagnostic
from ascend_infer.types import DataType

__all__ = ["EnsembleMember", "check_graph"]


@dataclass(frozen=True, slots=True)
class EnsembleMember:
    """A model an ensemble may name.

    Attributes
    ----------
    config : ModelConfig or None
        Completed as far as the model file could be read; None when it cannot be parsed.
    versions : tuple of int
        Those that its version policy selects.
    problem : str or None
        Why it cannot be loaded.
    """

    config: ModelConfig | None
    versions: tuple[int, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Use:
    """What one model says of an ensemble's tensor; dims without the batch dimension."""

    model: str
    data_type: DataType | None
    dims: tuple[int, ...]
    batching: bool


def check_graph(
    ensemble: ParsedConfig,
    find: Callable[[str], EnsembleMember | None],
    known: tuple[str, ...] = (),
) -> tuple[Diagnostic, ...]:
    """Check an ensemble against its members.

    Parameters
    ----------
    ensemble : ParsedConfig
    find : callable
        Returns the model of a name, None when there is none.
    known : tuple of str
        Names of all models, for hints.
    """
    findings = ensemble.findings()
    config = ensemble.config
    if config.ensemble_scheduling is None:
        return ()
    if _check_circle(config, find, findings):
        return tuple(findings.diagnostics)
    uses: dict[str, list[_Use]] = {}
    tensors: tuple[ModelInput | ModelOutput, ...] = (*config.input, *config.output)
    for tensor in tensors:
        shape = tensor.reshape.shape if tensor.reshape is not None else tensor.dims
        use = _Use(config.name, tensor.data_type, shape, config.max_batch_size > 0)
        uses.setdefault(tensor.name, []).append(use)
    for index, step in enumerate(config.ensemble_scheduling.step):
        path = f"ensemble_scheduling.step[{index}]"
        member = find(step.model_name)
        if member is None:
            meant = similar(step.model_name, known)
            findings.error(
                f"{path}.model_name",
                f"the ensemble contains a model that is not available: '{step.model_name}'",
                got=f"'{step.model_name}'",
                expected=f"one of {quoted(known)}" if known else None,
                hint=f"did you mean '{meant}'?" if meant else None,
            )
        elif member.config is None or member.problem is not None:
            findings.error(
                f"{path}.model_name",
                f"the ensemble depends on '{step.model_name}', which cannot be loaded: {member.problem}",
            )
        else:
            _check_member(config, step, path, member.config, member, uses, findings)
    _check_decoupled(config, find, findings)
    return tuple(findings.diagnostics)


def _check_circle(
    config: ModelConfig, find: Callable[[str], EnsembleMember | None], findings: Findings
) -> bool:
    """Report ensembles that contain each other; members of members are followed without recursion."""
    pending: list[tuple[str, ...]] = [(config.name,)]
    visited: set[str] = set()
    while pending:
        way = pending.pop()
        member = find(way[-1]) if len(way) > 1 else EnsembleMember(config)
        scheduling = (
            member.config.ensemble_scheduling if member is not None and member.config is not None else None
        )
        for index, step in enumerate(scheduling.step if scheduling is not None else ()):
            if step.model_name == config.name:
                direct = len(way) == 1
                path = f"ensemble_scheduling.step[{index}].model_name" if direct else "ensemble_scheduling"
                circle = " -> ".join([*way, config.name])
                findings.error(path, f"circular dependency between ensembles: {circle}")
                return True
            if step.model_name not in visited:
                visited.add(step.model_name)
                pending.append((*way, step.model_name))
    return False


def _check_member(
    config: ModelConfig,
    step: ModelEnsemblingStep,
    path: str,
    member: ModelConfig,
    found: EnsembleMember,
    uses: dict[str, list[_Use]],
    findings: Findings,
) -> None:
    name = step.model_name
    if step.model_version != -1 and step.model_version not in found.versions:
        # A step without model_version asks for version 0, in Triton too.
        findings.error(
            f"{path}.model_version",
            f"the ensemble depends on '{name}' whose required version {step.model_version} is not loaded",
            got=step.model_version,
            expected=f"-1 for the latest, or one of {', '.join(map(str, found.versions)) or 'none'}",
            hint="write model_version: -1" if step.model_version == 0 else None,
        )
    if 0 < member.max_batch_size < config.max_batch_size:
        findings.error(
            "max_batch_size",
            f"the ensemble allows maximum batch size {config.max_batch_size}, but it contains model '{name}' "
            f"which only allows maximum batch size to be {member.max_batch_size}",
            got=config.max_batch_size,
            expected=f"at most {member.max_batch_size}",
        )
    batching = member.max_batch_size > 0
    inputs = {tensor.name: tensor for tensor in member.input}
    outputs = {tensor.name: tensor for tensor in member.output}
    for tensor in member.input:
        # A step without any input_map is reported by the ensemble's own rules.
        if step.input_map and not tensor.optional and tensor.name and tensor.name not in step.input_map:
            findings.error(
                f"{path}.input_map",
                f"input '{tensor.name}' in model '{name}' is not mapped to any ensemble tensor",
                hint=f'add input_map {{ key: "{tensor.name}" value: "..." }}',
            )
    for kind, mapping, tensors in (
        ("input", step.input_map, inputs),
        ("output", step.output_map, outputs),
    ):
        for key, ensemble_tensor in mapping.items():
            own = f'{path}.{kind}_map["{key}"]'
            if key not in tensors:
                if tensors:
                    verb = "mapping to" if kind == "input" else "mapped from"
                    meant = similar(key, tensors)
                    findings.error(
                        own,
                        f"ensemble tensor '{ensemble_tensor}' is {verb} non-existing {kind} '{key}' in model "
                        f"'{name}'",
                        got=f"'{key}'",
                        expected=f"one of {quoted(tensors)}",
                        hint=f"did you mean '{meant}'?" if meant else None,
                    )
                continue
            use = _Use(name, tensors[key].data_type, tensors[key].dims, batching)
            before = uses.setdefault(ensemble_tensor, [])
            _check_consistent(ensemble_tensor, before, use, own, findings)
            before.append(use)


def _check_consistent(tensor: str, before: list[_Use], use: _Use, path: str, findings: Findings) -> None:
    for other in before:
        one, two = other.data_type, use.data_type
        if one is not None and two is not None and one is not two:
            findings.error(
                path,
                f"ensemble tensor '{tensor}': inconsistent data type: {one.config_name} is inferred "
                f"from model '{other.model}' while {two.config_name} is inferred from '{use.model}'",
                got=two.config_name,
                expected=one.config_name,
            )
            return
        if (
            other.dims
            and use.dims
            and not _same(other.dims, use.dims)
            and not _same(_whole(other), _whole(use))
        ):
            findings.error(
                path,
                f"ensemble tensor '{tensor}': inconsistent shape: {_whole(other)} is inferred from model "
                f"'{other.model}' while {_whole(use)} is inferred from '{use.model}'",
                got=_whole(use),
                expected=str(_whole(other)),
            )
            return


def _whole(use: _Use) -> list[int]:
    return [-1, *use.dims] if use.batching else list(use.dims)


def _same(one: list[int] | tuple[int, ...], other: list[int] | tuple[int, ...]) -> bool:
    return len(one) == len(other) and all(a == b or -1 in (a, b) for a, b in zip(one, other, strict=True))


def _check_decoupled(
    config: ModelConfig, find: Callable[[str], EnsembleMember | None], findings: Findings
) -> None:
    """Refuse a step that takes tensors of two decoupled models: which responses belong together is open."""
    assert config.ensemble_scheduling is not None
    steps: Mapping[int, ModelEnsemblingStep] = dict(enumerate(config.ensemble_scheduling.step))
    source: dict[str, int | None] = {tensor.name: None for tensor in config.input}
    waiting = dict(steps)
    progress = True
    while progress:
        progress = False
        for index, step in list(waiting.items()):
            if not all(tensor in source for tensor in step.input_map.values()):
                continue
            del waiting[index]
            progress = True
            origins = {source[tensor] for tensor in step.input_map.values()} - {None}
            if len(origins) > 1:
                names = quoted(steps[origin].model_name for origin in origins if origin is not None)
                findings.error(
                    f"ensemble_scheduling.step[{index}]",
                    f"step {index} ('{step.model_name}') receives tensors of different decoupled models: {names}",
                )
            member = find(step.model_name)
            policy = member.config.model_transaction_policy if member and member.config else None
            decoupled = policy is not None and policy.decoupled
            own = index if decoupled else next(iter(origins), None)
            source.update(dict.fromkeys(step.output_map.values(), own))
