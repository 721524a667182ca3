"""Turning a model's configuration into onnxruntime's session options and providers.

Parameter names and the meaning of ``optimization.graph.level`` are those of Triton's onnxruntime backend
(its README, "Model Config Options"), so that an existing config.pbtxt means the same here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascend_infer.backends.base import BackendOptions
from ascend_infer.backends.onnx_runtime import ort
from ascend_infer.cpu_budget import cpu_budget
from ascend_infer.errors import ModelLoadError

__all__ = ["providers", "run_config", "session_options", "thread_count"]

_LEVELS = {
    -1: ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    0: ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    1: ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    2: ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}

#: Keys that hold a setting of one run, not of the session.
_RUN_KEYS = ("memory.enable_memory_arena_shrinkage",)


def _number(parameters: Mapping[str, str], key: str, allowed: range) -> int | None:
    text = parameters.get(key)
    if text is None or text == "":
        return None
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value not in allowed:
        raise ModelLoadError(
            f"parameters {{ key: {key!r} }}: got {text!r}, expected a whole number from {allowed.start} to "
            f"{allowed.stop - 1}"
        )
    return value


def thread_count(options: BackendOptions) -> int:
    """Return the threads one execution uses, the calling one included; at least 1.

    The caller's own figure first, then the configuration's ``intra_op_thread_count`` (0 or absent: not
    stated), then the CPUs of this process divided by the instances, so that busy instances never outnumber
    the CPUs.
    """
    if options.threads is not None:
        return options.threads
    stated = _number(options.parameters, "intra_op_thread_count", range(0, 4097))
    return stated or max(1, cpu_budget() // options.instances)


def session_options(options: BackendOptions) -> Any:
    """Build an ``onnxruntime.SessionOptions``.

    Raises
    ------
    ModelLoadError
        A parameter has a value it cannot have.
    """
    parameters = options.parameters
    built = ort.SessionOptions()
    # Whatever goes wrong is raised; onnxruntime would print it as well, in colour, on the application's
    # stderr.
    built.log_severity_level = 4
    built.intra_op_num_threads = thread_count(options)
    built.inter_op_num_threads = _number(parameters, "inter_op_thread_count", range(0, 4097)) or 1
    if _number(parameters, "execution_mode", range(2)):
        built.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    level = options.graph_level or 0
    if level not in _LEVELS:
        raise ModelLoadError(
            f"optimization.graph.level: got {level}, expected -1 (basic), 0 (all), 1 (extended) or 2 (off)"
        )
    built.graph_optimization_level = _LEVELS[level]
    for key, attribute in (("enable_mem_arena", "enable_cpu_mem_arena"), ("enable_mem_pattern",) * 2):
        stated = _number(parameters, key, range(2))
        if stated is not None:
            setattr(built, attribute, bool(stated))
    for key, value in parameters.items():
        if key.startswith("session."):
            built.add_session_config_entry(key, value)
    return built


def run_config(options: BackendOptions) -> dict[str, str]:
    """Return the configuration entries that each run carries."""
    return {key: options.parameters[key] for key in _RUN_KEYS if options.parameters.get(key)}


def providers(options: BackendOptions) -> list[Any]:
    """Return the execution providers in onnxruntime's form, ``CPUExecutionProvider`` last.

    Raises
    ------
    ModelLoadError
        One of them is not in the installed onnxruntime: it would be dropped without a word there.
    """
    wanted: list[Any] = (
        list(options.providers)
        if options.providers is not None
        else [(_provider_name(name), dict(values)) for name, values in options.accelerators]
    )
    available = ort.get_available_providers()
    for item in wanted:
        name = item if isinstance(item, str) else item[0]
        if name not in available:
            raise ModelLoadError(
                f"execution provider {name!r} is not in the installed onnxruntime {ort.__version__}; "
                f"it has: {', '.join(available)}"
            )
    if not any((item if isinstance(item, str) else item[0]) == "CPUExecutionProvider" for item in wanted):
        wanted.append("CPUExecutionProvider")
    return wanted


def _provider_name(accelerator: str) -> str:
    """Map ``"openvino"`` to ``"OpenVINOExecutionProvider"``, by the names of all providers there are."""
    wanted = f"{accelerator}executionprovider".lower()
    known: dict[str, str] = {name.lower(): name for name in ort.get_all_providers()}
    if accelerator.lower().endswith("executionprovider"):
        wanted = accelerator.lower()
    if wanted not in known:
        names = ", ".join(sorted(name.removesuffix("executionprovider") for name in known))
        raise ModelLoadError(
            f"optimization.execution_accelerators names {accelerator!r}, which onnxruntime does not know; "
            f"it knows: {names}"
        )
    return known[wanted]
