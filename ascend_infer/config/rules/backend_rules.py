"""Platform and backend: known, and fitting each other; the parameters of the GE backend."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.platforms import PLATFORM_ALIASES, PLATFORMS, platforms_of_backend
from ascend_infer.config.suggestions import quoted, similar
from ascend_infer.config.tensor_config import ModelInput, ModelOutput

__all__ = ["check_backend"]

# The parameters that the GE backend for Triton reads; besides these it hands GE's own options through.
_GE_PARAMETERS = (
    "device_ids",
    "device_exec_blocks",
    "instance_exec_blocks",
    "static_model",
    "dump_graph",
    "dump_data",
    "profiling",
)
_GE_OPTION_PREFIXES = ("global.", "session.", "graph.", "ge.")
# This library's own: docs/gears.md and docs/compile.md.
_OWN_PREFIXES = ("gear_pad.", "gear_crop.", "atc.")
# Triton maps only these four itself, and refuses another platform beside them.
_STRICT_BACKENDS = frozenset({"tensorrt", "onnxruntime", "pytorch", "tensorflow"})


def check_backend(config: ModelConfig, findings: Findings) -> None:
    """Check platform, backend and the parameters whose meaning is known."""
    platforms = sorted({entry.platform for entry in PLATFORMS if entry.platform} | set(PLATFORM_ALIASES))
    backends = sorted({entry.backend for entry in PLATFORMS if entry.backend})
    if config.platform == "ensemble" and config.backend:
        findings.error(
            "backend",
            "an ensemble has platform 'ensemble' and no backend",
            got=f"'{config.backend}'",
            hint="delete the line",
        )
        return
    if config.backend and config.backend not in backends:
        meant = similar(config.backend, backends)
        findings.error(
            "backend",
            f"there is no backend '{config.backend}'",
            got=f"'{config.backend}'",
            expected=f"one of {quoted(backends)}",
            hint=_om_hint(config.backend) or (f"did you mean '{meant}'?" if meant else None),
        )
        return
    if not config.backend and config.platform and config.platform not in platforms:
        meant = similar(config.platform, platforms)
        findings.error(
            "platform",
            f"unexpected platform type '{config.platform}'",
            got=f"'{config.platform}'",
            expected=f"one of {quoted(platforms)}",
            hint=_om_hint(config.platform) or (f"did you mean '{meant}'?" if meant else None),
        )
    if config.backend and config.platform and config.platform not in platforms_of_backend(config.backend):
        allowed = sorted(platforms_of_backend(config.backend) - {""})
        add = findings.error if config.backend in _STRICT_BACKENDS else findings.warning
        add(
            "platform",
            f"unexpected 'platform' and 'backend' pair: '{config.platform}' and '{config.backend}'",
            got=f"'{config.platform}'",
            expected=quoted(allowed) if allowed else f"no platform beside backend '{config.backend}'",
            hint="delete the platform; the backend is enough",
        )
    if config.backend == "npu_ge":
        _check_ge_parameters(config, findings)
    _check_gear_parameters(config, "gear_pad.", "input", config.input, findings)
    _check_gear_parameters(config, "gear_crop.", "output", config.output, findings)


def _check_gear_parameters(
    config: ModelConfig,
    prefix: str,
    kind: str,
    tensors: Sequence[ModelInput] | Sequence[ModelOutput],
    findings: Findings,
) -> None:
    """Warn of a parameter that is about a tensor the configuration does not have."""
    names = [tensor.name for tensor in tensors if tensor.name]
    if not tensors or len(names) != len(tensors):
        return
    for key in config.parameters:
        wanted = key.removeprefix(prefix)
        if key.startswith(prefix) and wanted not in names:
            meant = similar(wanted, names)
            findings.warning(
                f'parameters["{key}"]',
                f"parameter '{key}' names no {kind}",
                expected=f"{prefix}<one of {quoted(names)}>",
                hint=f"did you mean '{prefix}{meant}'?" if meant else None,
            )


def _om_hint(name: str) -> str | None:
    word = name.lower()
    if any(part in word for part in ("ascend", "npu", "cann", "_om", "om_")) or word in ("om", "ge_om"):
        return 'a model.om runs with backend: "acl"'
    return None


def _check_ge_parameters(config: ModelConfig, findings: Findings) -> None:
    for key in config.parameters:
        if key in _GE_PARAMETERS or key.startswith((*_GE_OPTION_PREFIXES, *_OWN_PREFIXES)):
            continue
        meant = similar(key, _GE_PARAMETERS)
        findings.warning(
            f'parameters["{key}"]',
            f"backend 'npu_ge' has no parameter '{key}'; it is ignored",
            expected=f"{quoted(_GE_PARAMETERS)}, or an option of {quoted(_GE_OPTION_PREFIXES)}",
            hint=f"did you mean '{meant}'?" if meant else None,
        )
    if config.parameter("static_model") == "1" and config.dynamic_batching is not None:
        findings.warning(
            'parameters["static_model"]',
            "static_model excludes dynamic_batching in the GE backend; here the model file decides",
            hint="delete one of them",
        )
