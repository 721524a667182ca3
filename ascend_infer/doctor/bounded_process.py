"""Run a child process that may hang, crash or talk without end: bounded in time and in memory."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from ascend_infer.doctor.marked_processes import kill_marked
from ascend_infer.errors import AscendInferError

__all__ = ["Deadline", "ProcessOutcome", "run_bounded"]

#: Kept of each stream, from its beginning and from its end; what lies between is read and dropped.
_KEPT_BYTES = 65536
#: How often a child's exit is looked for where the kernel offers no descriptor that tells it.
_POLL_SECONDS = 0.02
#: The variable that tells a child's descendants from other processes.
_MARK = "ASCEND_INFER_CHILD"
#: Of 64 KiB each: a pipe holds at most 1 MiB by default limits.
_READS_AFTER_EXIT = 16


class Deadline:
    """The time that all children of one examination share.

    Parameters
    ----------
    seconds : float
    clock : callable
        Monotonic seconds; a test's own clock makes time stand still.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    @property
    def remaining(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self._end - self._clock())


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """How a child ended.

    Attributes
    ----------
    exit_code : int or None
        None when it was killed by a signal, ran out of time or never started.
    signal : str or None
        ``"SIGSEGV"``; also when its time ran out, then it is ours.
    timed_out : bool
    start_error : str or None
        Why it could not be started.
    stdout, stderr : str
        Beginning and end, at most 128 KiB each.
    seconds : float
    """

    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    start_error: str | None = None
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class _Kept:
    """A stream's beginning and end."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: bool = False

    def add(self, data: bytes) -> None:
        room = _KEPT_BYTES - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room > 0 else data
        if len(self.tail) > _KEPT_BYTES:
            self.dropped = True
            del self.tail[:-_KEPT_BYTES]

    def text(self) -> str:
        middle = b"\n[...]\n" if self.dropped else b""
        return bytes(self.head + middle + self.tail).decode("utf-8", "replace")


def run_bounded(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    deadline: Deadline,
    *,
    first_output_limit: float,
    idle_limit: float,
    folder: str | None = None,
    on_output: Callable[[bytes], None] | None = None,
    starting: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> ProcessOutcome:
    """Run a program to its end, or kill it and everything it started.

    Parameters
    ----------
    arguments : sequence of str
        The program and its arguments; no shell.
    variables : mapping of str to str
        Its whole environment.
    deadline : Deadline
        Shared with other children; nothing is started when it has passed.
    first_output_limit, idle_limit : float
        Longest silence on standard output in seconds, before the first byte and after each.
    folder : str, optional
        Its current folder; this process's own where left out.
    on_output : callable, optional
        Gets what it writes, both streams, as it comes.
    starting : callable
        Makes a context in which the child is started, and which is left when it runs.

    Notes
    -----
    Blocks for at most what is left of the deadline. Never raises for what the child does or for a program
    that is not there. The child leads a session of its own, which dies with it; on Linux whatever else still
    carries the mark that its environment gets dies as well, so a grandchild that left the session too.
    """
    if deadline.remaining <= 0:
        return ProcessOutcome(start_error=f"the {deadline.seconds:g} s for all probes were spent")
    begin = time.monotonic()
    mark = secrets.token_hex(16)
    try:
        with starting():
            process = subprocess.Popen(
                list(arguments),
                env={**variables, _MARK: mark},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
    except AscendInferError:  # of the caller's context; some are Python's own kinds too
        raise
    except (OSError, ValueError) as error:
        return ProcessOutcome(start_error=str(error))
    streams = (_Kept(), _Kept())
    try:
        finished = _read_until_exit(process, streams, deadline, first_output_limit, idle_limit, on_output)
    finally:
        _kill_session(process)
        kill_marked(f"{_MARK}={mark}".encode())
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    code = process.returncode
    return ProcessOutcome(
        exit_code=code if finished and code >= 0 else None,
        signal=_signal_name(-code) if code < 0 else None,
        timed_out=not finished,
        stdout=streams[0].text(),
        stderr=streams[1].text(),
        seconds=time.monotonic() - begin,
    )


def _read_until_exit(
    process: subprocess.Popen[bytes],
    streams: tuple[_Kept, _Kept],
    deadline: Deadline,
    first_output_limit: float,
    idle_limit: float,
    on_output: Callable[[bytes], None] | None,
) -> bool:
    """Collect output until the child has exited (True) or has been silent for too long (False)."""
    assert process.stdout is not None
    assert process.stderr is not None
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        for pipe, kept in zip((process.stdout, process.stderr), streams, strict=True):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, kept)
        exit_descriptor = _open_exit_descriptor(process.pid)
        if exit_descriptor is not None:
            stack.callback(os.close, exit_descriptor)
            selector.register(exit_descriptor, selectors.EVENT_READ, None)
        quiet_until = time.monotonic() + first_output_limit
        last_reads = _READS_AFTER_EXIT
        while True:
            exited = _has_exited(process)
            left = min(quiet_until - time.monotonic(), deadline.remaining)
            if left <= 0 and not exited:
                return False
            wait = 0.0 if exited else left if exit_descriptor is not None else min(left, _POLL_SECONDS)
            read_any = False
            for key, _ in selector.select(wait):
                if key.data is None:
                    continue
                data = _read_available(key.fd)
                if data:
                    read_any = True
                    key.data.add(data)
                    if on_output is not None:
                        on_output(data)
                    if key.data is streams[0]:
                        quiet_until = time.monotonic() + idle_limit
                elif data is not None:
                    selector.unregister(key.fileobj)
            # A grandchild may hold the pipes open and go on talking: only what a pipe can hold at the child's
            # exit counts.
            if exited:
                last_reads -= 1
                if not read_any or not last_reads:
                    return True


def _read_available(descriptor: int) -> bytes | None:
    """Return what a pipe holds, empty at its end, None when it holds nothing now."""
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return None


def _open_exit_descriptor(pid: int) -> int | None:
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        descriptor: int = opener(pid)
    except OSError:
        return None
    return descriptor


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Whether the child has ended; where possible without reaping it, so that its group keeps its number."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        # The application ignores SIGCHLD, or reaps every child itself.
        return True


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
