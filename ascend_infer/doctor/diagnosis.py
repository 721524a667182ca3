"""Runs the checks and draws the conclusion."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from ascend_infer.doctor.bounded_process import Deadline
from ascend_infer.doctor.checks import CHECKS
from ascend_infer.doctor.compiled_parts import ExtensionState, extension_state, simulator_library
from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict
from ascend_infer.doctor.model_files import newest_model_files
from ascend_infer.doctor.prober import ProbeLimits, Prober
from ascend_infer.doctor.report import Report
from ascend_infer.errors import InvalidOptionError, ModelFileError

__all__ = ["TIME_LIMIT", "examine"]

#: Seconds for all child processes together.
TIME_LIMIT = 9.0


def examine(
    model: str | os.PathLike[str] | None = None,
    *,
    device: str | None = None,
    time_limit: float = TIME_LIMIT,
    environment: Environment | None = None,
    limits: ProbeLimits | None = None,
) -> Report:
    """Examine this machine, and whether a model would load on it.

    Parameters
    ----------
    model : path, optional
        A .om, a .onnx, a model directory or a repository.
    device : {"auto", "npu", "npu:N", "cpu", "sim", "sim:N"}, optional
        What the user wants; ``"npu"`` makes having none a problem. For None and ``"auto"`` the environment
        variable ``ASCEND_INFER_DEVICE`` is asked first, as a Session does.
    time_limit : float
        Seconds for all child processes together; what they have not answered by then is reported as hanging.
    environment : Environment, optional
        The machine to look at; this one by default.
    limits : ProbeLimits, optional
        For each child; by default fractions of `time_limit`.

    Returns
    -------
    Report

    Raises
    ------
    InvalidOptionError
        `device` or `time_limit` is none.

    Notes
    -----
    Blocks for at most `time_limit` and the reading of files. Loads no library into this process. Starts child
    processes, so it must not run while this process has asynchronous copies of ACL in flight (CANN's rule).
    """
    environment = environment or Environment.current()
    if not 0 < time_limit < float("inf"):
        raise InvalidOptionError(
            f"time_limit is {time_limit!r}; expected seconds above 0", option="time_limit", got=time_limit
        )
    if device is None or device == "auto":
        device = environment.variables.get("ASCEND_INFER_DEVICE") or "auto"
    if not re.fullmatch(r"auto|cpu|(npu|sim)(:\d{1,3})?", device):
        raise InvalidOptionError(
            f"device is {device!r}; expected auto, cpu, npu, npu:N, sim or sim:N",
            option="device",
            got=device,
        )
    limits = limits or ProbeLimits(start=time_limit / 3, step=time_limit / 2)
    path = Path(model) if model is not None else None
    examination = Examination(
        environment=environment,
        prober=Prober(environment, Deadline(time_limit), limits),
        device=device,
        model=path,
        model_soc=_first_chip(path) if path is not None else None,
    )
    # Asked first, so that a hanging NPU cannot use up the time of what would be used in its place.
    _ = examination.onnxruntime_answer
    findings: list[Finding] = []
    for name, check in CHECKS.items():
        findings += _guarded(name, lambda check=check: (check(examination),))  # type: ignore[misc]
    if path is not None:
        from ascend_infer.doctor.checks.model import check_model

        findings += _guarded("model_file", lambda: check_model(examination, path))
    device_used, conclusion = _conclude(examination)
    return Report(tuple(findings), device_used, conclusion)


def _guarded(name: str, check: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
    # One check that meets a machine nobody thought of must not take the other findings with it.
    try:
        return check()
    except Exception as error:
        summary = f"this check failed itself: {type(error).__name__}: {error}"
        return (Finding(name, Verdict.WARNING, summary, (Evidence("check", name),)),)


def _first_chip(path: Path) -> str | None:
    from ascend_infer.om import read

    for file in newest_model_files(path):
        if file.suffix == ".om":
            try:
                return read(file).soc_version or None
            except ModelFileError:
                return None
    return None


def _conclude(examination: Examination) -> tuple[str, tuple[str, ...]]:
    """Return the device that would be used, and the sentences that say so."""
    package = examination.environment.package_path
    version = examination.onnxruntime_version
    cpu = f"onnxruntime {version}" if version else None
    # Sessions drive the simulator's library through the extension, as they drive a card's.
    extension = extension_state(package)
    simulated = simulator_library(package) is not None and extension is ExtensionState.PRESENT
    sentences: list[str] = []
    if examination.npu_usable:
        soc = examination.runtime_answer and examination.runtime_answer.value("aclrtGetSocName", "soc")
        sentences.append(f"An NPU works here: {examination.device_count} x {soc or 'device'}.")
    elif examination.device_count:
        sentences.append("An NPU answers here, but the compiled part of ascend-infer is not built.")
    elif examination.nodes.any or examination.driver.any:
        sentences.append("There are signs of an NPU, but it cannot be used; see above.")
    else:
        sentences.append("There is no NPU here.")
    if examination.library_is_simulator:
        sentences.append("The ACL library that was found is the simulator.")

    wanted = examination.device
    if examination.npu_usable and (wanted == "auto" or examination.npu_asked_for):
        used = "npu"
        sentences.append(f'device="{wanted}" uses it.')
    elif examination.npu_asked_for:
        used = "none"
        sentences.append(f'device="{wanted}" will fail.')
    elif wanted.startswith("sim"):
        used = "sim" if simulated and cpu else "none"
    else:
        used = "cpu" if cpu else "none"
        if cpu:
            sentences.append(f'device="{wanted}" runs models on the CPU through {cpu}.')
        else:
            sentences.append("Models cannot run on the CPU either: onnxruntime cannot be imported.")
    if simulated and cpu:
        sentences.append('A simulated card is there by name: device="sim".')
    elif wanted.startswith("sim"):
        lacking = (
            "onnxruntime cannot be imported, and runs the simulator's models"
            if simulated
            else "the compiled parts of this package are not built"
        )
        sentences.append(f'device="{wanted}" will fail: {lacking}.')
    return used, (" ".join(sentences),)
