"""Rules of an ensemble that its own configuration decides; ``ensemble_graph.py`` has those of its members."""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.scheduling_config import ModelEnsemblingStep
from ascend_infer.config.suggestions import quoted

__all__ = ["check_ensemble"]


def check_ensemble(config: ModelConfig, findings: Findings) -> None:
    """Check that an ensemble has steps and nothing of a single model, and that its tensors connect."""
    scheduling = config.ensemble_scheduling
    if config.platform != "ensemble":
        if scheduling is not None:
            findings.error(
                "ensemble_scheduling",
                "ensemble scheduling cannot be set for a model whose platform is not ensemble",
                got=f"platform '{config.platform}', backend '{config.backend}'",
                expected="platform 'ensemble'",
                hint='write platform: "ensemble" and no backend',
            )
        return
    if scheduling is None:
        findings.error(
            "platform",
            "ensemble scheduling must be set for an ensemble",
            hint="add ensemble_scheduling { ... }",
        )
        return
    if config.instance_group:
        findings.error(
            "instance_group",
            "instance group should not be specified for an ensemble",
            hint="its members have instances of their own",
        )
    if config.optimization is not None:
        findings.error("optimization", "optimization should not be specified for an ensemble")
    if config.model_warmup:
        findings.error("model_warmup", "model_warmup can not be specified for an ensemble")
    if not scheduling.step:
        findings.error("ensemble_scheduling", "must specify 'step' for an ensemble")
        return
    whole = True
    for index, step in enumerate(scheduling.step):
        whole &= _check_step(step, index, findings)
    if whole:
        _check_connections(config, scheduling.step, findings)


def _check_step(step: ModelEnsemblingStep, index: int, findings: Findings) -> bool:
    path = f"ensemble_scheduling.step[{index}]"
    whole = True
    for field in ("model_name", "input_map", "output_map"):
        if not getattr(step, field):
            findings.error(path, f"must specify '{field}' in step {index} of the ensemble")
            whole = False
    if step.model_version < -1:
        findings.error(
            f"{path}.model_version", "a version is -1 (the latest) or a number", got=step.model_version
        )
    for field in ("input_map", "output_map"):
        for key, value in getattr(step, field).items():
            if not key or not value:
                own = f'{path}.{field}["{key}"]'
                findings.error(
                    own, f"an entry of '{field}' needs the member's tensor as key and the ensemble's as value"
                )
                whole = False
    return whole


def _check_connections(
    config: ModelConfig, steps: tuple[ModelEnsemblingStep, ...], findings: Findings
) -> None:
    inputs = {tensor.name: index for index, tensor in enumerate(config.input) if tensor.name}
    outputs = {tensor.name: index for index, tensor in enumerate(config.output) if tensor.name}
    written: dict[str, int] = {}
    read: set[str] = {tensor for step in steps for tensor in step.input_map.values()}
    for index, step in enumerate(steps):
        for key, tensor in step.output_map.items():
            own = f'ensemble_scheduling.step[{index}].output_map["{key}"]'
            if tensor in inputs:
                findings.error(own, f"ensemble input '{tensor}' cannot be written by a step")
            elif tensor in written:
                findings.error(
                    own,
                    f"ensemble tensor '{tensor}' can appear in an output map only once",
                    hint=f"step {written[tensor]} writes it already",
                )
            else:
                written[tensor] = index
    for name, index in inputs.items():
        if name not in read:
            findings.error(f"input[{index}]", f"ensemble input '{name}' is not used by any step")
    # A step runs when all of its inputs are there; what never runs is a gap or a circle.
    available = set(inputs)
    waiting = dict(enumerate(steps))
    progress = True
    while progress:
        progress = False
        for index, step in list(waiting.items()):
            if available.issuperset(step.input_map.values()):
                available.update(step.output_map.values())
                del waiting[index]
                progress = True
    for name, index in outputs.items():
        if name in available:
            continue
        if name not in written:
            findings.error(f"output[{index}]", f"ensemble output '{name}' is written by no step")
            continue
        missing = sorted(set(steps[written[name]].input_map.values()) - available)
        gap = quoted(missing)
        circle = all(tensor in written for tensor in missing)
        findings.error(
            f"output[{index}]",
            f"output '{name}' is not written: at least one of its depending tensors, {gap}, is not connected",
            hint="the steps wait for each other in a circle" if circle else f"no step writes {gap}",
        )
    if all(name in available for name in outputs):
        for index, step in waiting.items():
            gap = quoted(sorted(set(step.input_map.values()) - available))
            findings.error(
                f"ensemble_scheduling.step[{index}]",
                f"step {index} ('{step.model_name}') can never run: {gap} is not connected",
            )
    for tensor, index in written.items():
        if tensor not in read and tensor not in outputs:
            findings.error(
                f"ensemble_scheduling.step[{index}].output_map",
                f"ensemble tensor '{tensor}' is unused",
                hint="a member's output that nobody needs is left out of output_map",
            )
