"""Compiling a model once: locked, bounded in time, moved into place whole."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from ascend_infer import om
from ascend_infer.compile.compiler_output import ProgressLog, compiler_errors
from ascend_infer.compile.lock import file_lock
from ascend_infer.compile.plan import CompilePlan, plan_compile
from ascend_infer.config import ModelConfig
from ascend_infer.doctor.bounded_process import Deadline, ProcessOutcome, run_bounded
from ascend_infer.doctor.environment import Environment
from ascend_infer.errors import AscendInferError, InvalidOptionError, ModelFileError, ModelLoadError

__all__ = ["TIME_LIMIT", "carry_out", "compile_onnx"]

_log = logging.getLogger("ascend_infer.compile")
#: Seconds; atc takes seconds for small models and tens of minutes for large ones with many gears.
TIME_LIMIT = 3600.0
#: What select can wait for; in effect for ever.
_FOR_EVER = 1e6
_FULL = {errno.ENOSPC, errno.EDQUOT}
_ELSEWHERE = "or name another folder in ASCEND_INFER_CACHE or cache_dir"


def compile_onnx(
    onnx_path: str | os.PathLike[str],
    *,
    config: ModelConfig | None = None,
    soc: str,
    cann_version: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    atc: str | os.PathLike[str] | None = None,
    timeout: float | None = TIME_LIMIT,
    options: Mapping[str, str] | None = None,
    allow_paths: Sequence[str | os.PathLike[str]] = (),
    starting: Callable[[], AbstractContextManager[object]] = nullcontext,
    environment: Environment | None = None,
) -> Path:
    """Compile an ONNX model for a chip with CANN's ``atc``, once: the result is kept and found again.

    Parameters
    ----------
    onnx_path : path-like
    config : ModelConfig, optional
        For input dims, batch gears and options; see docs/compile.md.
    soc : str
        The chip's name as ``aclrtGetSocName`` says it, ``"Ascend310P3"``.
    cann_version : str, optional
        Of the CANN that will run it; by default the compiler's own.
    cache_dir : path-like, optional
        By default ``ASCEND_INFER_CACHE``, else ``$XDG_CACHE_HOME/ascend_infer``.
    atc : path-like, optional
        The compiler; by default the one on the PATH, else in an installed CANN.
    timeout : float, optional
        Seconds, waiting for another process that compiles the same included; None for no limit.
    options : mapping of str to str, optional
        atc's options, before those of the configuration.
    allow_paths : sequence of path-like
        Folders outside the model directory that the configuration may name files in.
    starting : callable
        Makes a context in which the child process is started, and which is left while it runs: ACL forbids
        starting one while asynchronous copies are under way, so that a program which runs inference has to hold
        them off meanwhile.
    environment : Environment, optional
        By default this process's.

    Returns
    -------
    Path
        The ``model.om`` in the cache. It belongs to the cache and is not to be changed.

    Raises
    ------
    ModelLoadError
        No compiler; the compiler's own errors; out of time; the cache cannot be written.
    ModelFileError
        The .onnx file is none, or what the compiler wrote is no .om.
    ConfigError, InvalidOptionError
        Options that are none.

    Notes
    -----
    Blocks. On Ctrl-C, as on any error, the compiler and everything it started is killed and nothing half written
    stays. Processes and threads that ask for the same model at once compile it once. Progress goes to the
    logger ``ascend_infer.compile``.
    """
    if timeout is not None and not timeout > 0:
        raise InvalidOptionError(
            f"timeout: got {timeout!r}, expected seconds above 0, or None", option="timeout", got=timeout
        )
    environment = environment or Environment.current()

    def planned(*, need_atc: bool) -> CompilePlan:
        return plan_compile(
            onnx_path, config=config, soc=soc, cann_version=cann_version, cache_dir=cache_dir, atc=atc,
            options=options, allow_paths=allow_paths, environment=environment, need_atc=need_atc,
        )  # fmt: skip

    plan = planned(need_atc=False)
    if plan.entry.is_whole():
        return plan.entry.model
    if plan.atc is None:
        plan = planned(need_atc=True)  # for its error, which has the command to run
    return carry_out(plan, environment, timeout=timeout, starting=starting)


def carry_out(
    plan: CompilePlan,
    environment: Environment,
    *,
    timeout: float | None = TIME_LIMIT,
    starting: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Path:
    """Compile what a plan says, unless it is in the cache; see :func:`compile_onnx`."""
    entry, onnx = plan.entry, plan.command.onnx
    deadline = Deadline(_FOR_EVER if timeout is None else min(timeout, _FOR_EVER))
    try:
        entry.folder.mkdir(parents=True, exist_ok=True)
        with file_lock(
            entry.lock,
            deadline,
            on_wait=lambda: _log.info("waiting for another process that compiles %s", onnx),
        ):
            if entry.is_whole():
                return entry.model
            work = entry.make_work_folder()
            try:
                return _compile(plan, environment, work, deadline, starting)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except AscendInferError:  # some of them are Python's own kinds too
        raise
    except TimeoutError as error:
        raise ModelLoadError(
            f"{onnx}: another process has been compiling it for longer than the {deadline.seconds:g} s given; try "
            "again, or give more time",
            path=str(onnx),
        ) from error
    except OSError as error:
        raise _cache_error(plan, error) from error


def _compile(
    plan: CompilePlan,
    environment: Environment,
    work: Path,
    deadline: Deadline,
    starting: Callable[[], AbstractContextManager[object]],
) -> Path:
    assert plan.atc is not None
    onnx = plan.command.onnx
    arguments = plan.command.arguments(plan.atc.path, work / "model")
    _log.info(
        "compiling %s for %s (precision: %s): %s", onnx, plan.command.soc, plan.command.precision, plan.text
    )
    for note in plan.notes:
        _log.warning("%s: %s", onnx, note)
    progress = ProgressLog()
    begin = time.monotonic()
    outcome = run_bounded(
        arguments,
        plan.atc.variables(environment),
        deadline,
        first_output_limit=_FOR_EVER,
        idle_limit=_FOR_EVER,
        folder=str(work),
        on_output=progress,
        starting=starting,
    )
    progress.close()
    seconds = time.monotonic() - begin
    # With SIGCHLD ignored the exit code is lost: the file decides then.
    built = _built(work)
    if outcome.exit_code != 0 or built is None:
        raise _compiler_error(plan, outcome, deadline, work)
    try:
        om.read(built)
    except ModelFileError as error:
        reason = f"what atc wrote is no model that can be read: {error.reason}"
        raise ModelFileError(f"{onnx}: {reason}\n  {plan.text}", path=str(onnx), reason=reason) from error
    path = plan.entry.take(
        built,
        {
            "model": str(onnx),
            "soc": plan.command.soc,
            "cann": plan.cann_version,
            "command": plan.text,
            "precision": plan.command.precision,
            "seconds": round(seconds, 3),
        },
    )
    _log.info("compiled %s in %.1f s: %s", onnx, seconds, path)
    return path


def _built(work: Path) -> Path | None:
    """Return what atc wrote: model.om, or with the host's system in its name."""
    found = [work / "model.om", *sorted(work.glob("model_*.om"))]
    return next((path for path in found if path.is_file()), None)


def _compiler_error(
    plan: CompilePlan, outcome: ProcessOutcome, deadline: Deadline, work: Path
) -> ModelLoadError:
    onnx = plan.command.onnx
    words = compiler_errors(f"{outcome.stdout}\n{outcome.stderr}")
    if outcome.timed_out or deadline.remaining <= 0:
        how = f"atc did not finish within {deadline.seconds:g} s and was stopped; give more time"
    elif outcome.start_error is not None:
        how = f"atc could not be started: {outcome.start_error}"
    elif outcome.signal is not None:
        how = f"atc was killed by {outcome.signal}"
        if outcome.signal == "SIGKILL":
            how += ", as the kernel does when memory runs out; compile with fewer gears, or on a larger host"
    elif outcome.exit_code == 0:
        how = "atc ended well and wrote no model"
    else:
        how = f"atc failed with exit code {outcome.exit_code}"
    free = _free_bytes(work)
    if free is not None and free < 1 << 20:
        how += f"; the disk of the cache is full ({free:,} bytes left): {plan.entry.folder}"
        how += f"; free some space, {_ELSEWHERE}"
    text = f"{onnx}: {how}\n  {plan.text}"
    if words:
        text += "\n" + "\n".join(f"  {line}" for line in words.splitlines())
    return ModelLoadError(text, path=str(onnx))


def _cache_error(plan: CompilePlan, error: OSError) -> ModelLoadError:
    onnx, folder = plan.command.onnx, plan.entry.folder
    if error.errno in _FULL:
        what = f"the disk of the cache is full: {folder}; free some space"
    else:
        what = f"the cache cannot be written: {error}"
    return ModelLoadError(f"{onnx}: {what}, {_ELSEWHERE}", path=str(onnx))


def _free_bytes(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None
