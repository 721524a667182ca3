"""Turning a model's configuration into onnxruntime's settings and providers.

Parameter names and the meaning of ``optimization.graph.level`` are those of Triton's onnxruntime backend
(its README, "Model Config Options"), so that an existing config.pbtxt means the same here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ascend_infer.backends.base import BackendOptions
from ascend_infer.cpu_budget import cpu_budget
from ascend_infer.errors import ModelLoadError

__all__ = ["OnnxSettings", "only_cpu", "providers", "session_options", "settings", "thread_count"]

#: Triton's level to onnxruntime's GraphOptimizationLevel: basic, all, extended, off.
_LEVELS = {-1: 1, 0: 99, 1: 2, 2: 0}

_CPU = "CPUExecutionProvider"

#: Keys that hold a setting of one run, not of the session.
_RUN_KEYS = ("memory.enable_memory_arena_shrinkage",)


def _number(model: str, parameters: Mapping[str, str], key: str, allowed: range) -> int | None:
    text = parameters.get(key)
    if text is None or text == "":
        return None
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value not in allowed:
        raise ModelLoadError(
            f"model {model!r}: parameters {{ key: {key!r} }}: got {text!r}, expected a whole number from "
            f"{allowed.start} to {allowed.stop - 1}"
        )
    return value


def thread_count(model: str, options: BackendOptions) -> int:
    """Return the threads one execution uses, the calling one included; at least 1.

    The caller's own figure first, then the configuration's ``intra_op_thread_count`` (0 or absent: not
    stated), then the CPUs of this process divided by the instances, so that busy instances never outnumber
    the CPUs.
    """
    if options.threads is not None:
        return options.threads
    stated = _number(model, options.parameters, "intra_op_thread_count", range(0, 4097))
    return stated or max(1, cpu_budget() // options.instances)


@dataclass(frozen=True, slots=True)
class OnnxSettings:
    """What a session is created with, whichever of onnxruntime's interfaces creates it.

    Attributes
    ----------
    intra_threads, inter_threads : int
    parallel : bool
        onnxruntime's ``ORT_PARALLEL`` execution mode.
    graph_level : int
        onnxruntime's ``GraphOptimizationLevel``.
    mem_arena, mem_pattern : bool or None
        None: onnxruntime's default.
    session_entries, run_entries : mapping of str to str
        Configuration entries of the session, and of each run.
    """

    intra_threads: int
    inter_threads: int
    parallel: bool
    graph_level: int
    mem_arena: bool | None
    mem_pattern: bool | None
    session_entries: Mapping[str, str]
    run_entries: Mapping[str, str]


def settings(model: str, options: BackendOptions) -> OnnxSettings:
    """Read a model's options; its name is for messages.

    Raises
    ------
    ModelLoadError
        A parameter has a value it cannot have.
    """
    parameters = options.parameters
    level = options.graph_level or 0
    if level not in _LEVELS:
        raise ModelLoadError(
            f"model {model!r}: optimization.graph.level: got {level}, expected -1 (basic), 0 (all), 1 (extended) or "
            "2 (off)"
        )
    return OnnxSettings(
        intra_threads=thread_count(model, options),
        inter_threads=_number(model, parameters, "inter_op_thread_count", range(0, 4097)) or 1,
        parallel=bool(_number(model, parameters, "execution_mode", range(2))),
        graph_level=_LEVELS[level],
        mem_arena=_switch(model, parameters, "enable_mem_arena"),
        mem_pattern=_switch(model, parameters, "enable_mem_pattern"),
        session_entries={key: value for key, value in parameters.items() if key.startswith("session.")},
        run_entries={key: parameters[key] for key in _RUN_KEYS if parameters.get(key)},
    )


def _switch(model: str, parameters: Mapping[str, str], key: str) -> bool | None:
    stated = _number(model, parameters, key, range(2))
    return None if stated is None else bool(stated)


def session_options(wanted: OnnxSettings) -> Any:
    """Build an ``onnxruntime.SessionOptions``."""
    from ascend_infer.backends.onnx_runtime import ort

    built = ort.SessionOptions()
    # Whatever goes wrong is raised; onnxruntime would print it as well, in colour, on the application's
    # stderr.
    built.log_severity_level = 4
    built.intra_op_num_threads = wanted.intra_threads
    built.inter_op_num_threads = wanted.inter_threads
    if wanted.parallel:
        built.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    built.graph_optimization_level = ort.GraphOptimizationLevel(wanted.graph_level)
    if wanted.mem_arena is not None:
        built.enable_cpu_mem_arena = wanted.mem_arena
    if wanted.mem_pattern is not None:
        built.enable_mem_pattern = wanted.mem_pattern
    for key, value in wanted.session_entries.items():
        built.add_session_config_entry(key, value)
    return built


def only_cpu(options: BackendOptions) -> bool:
    """Whether no execution provider but the CPU's own, with nothing set in it, is asked for."""
    if options.providers is None:
        return not options.accelerators
    return all(
        item == _CPU or (tuple(item[:1]) == (_CPU,) and not any(item[1:])) for item in options.providers
    )


def providers(model: str, options: BackendOptions) -> list[Any]:
    """Return the execution providers in onnxruntime's form, ``CPUExecutionProvider`` last.

    Raises
    ------
    ModelLoadError
        One of them is not in the installed onnxruntime: it would be dropped without a word there.
    """
    from ascend_infer.backends.onnx_runtime import ort

    wanted: list[Any] = (
        list(options.providers)
        if options.providers is not None
        else [(_provider_name(model, name), dict(values)) for name, values in options.accelerators]
    )
    available = ort.get_available_providers()
    for item in wanted:
        name = item if isinstance(item, str) else item[0]
        if name not in available:
            raise ModelLoadError(
                f"model {model!r}: execution provider {name!r} is not in the installed onnxruntime {ort.__version__}; "
                f"it has: {', '.join(available)}"
            )
    if not any((item if isinstance(item, str) else item[0]) == _CPU for item in wanted):
        wanted.append(_CPU)
    return wanted


def _provider_name(model: str, accelerator: str) -> str:
    """Map ``"openvino"`` to ``"OpenVINOExecutionProvider"``, by the names of all providers there are."""
    from ascend_infer.backends.onnx_runtime import ort

    wanted = f"{accelerator}executionprovider".lower()
    known: dict[str, str] = {name.lower(): name for name in ort.get_all_providers()}
    if accelerator.lower().endswith("executionprovider"):
        wanted = accelerator.lower()
    if wanted not in known:
        names = ", ".join(sorted(name.removesuffix("executionprovider") for name in known))
        raise ModelLoadError(
            f"model {model!r}: optimization.execution_accelerators names {accelerator!r}, which onnxruntime does not "
            f"know; it knows: {names}"
        )
    return known[wanted]
