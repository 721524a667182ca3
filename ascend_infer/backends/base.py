"""What a backend offers: the protocols between scheduling and the runtimes.

A new backend is one module with a ``Backend`` whose ``load`` returns an object of a class derived from
``LoadedModel``; ``onnx.py`` is the smallest to copy. Inputs that arrive here have been validated: names, dtypes,
ranks and dims fit, arrays are C-contiguous, aligned and in native byte order, BYTES arrays hold ``str`` elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from ascend_infer.backends.cancellation import Cancellation, Deadline
from ascend_infer.errors import AscendInferError
from ascend_infer.types import ModelSpec

__all__ = [
    "Array",
    "Backend",
    "BackendOptions",
    "Cancellation",
    "Deadline",
    "DeviceTarget",
    "Executable",
    "LoadRequest",
    "LoadedModel",
    "ManyExecutable",
    "RecoverableExecutable",
    "ReportingExecutable",
    "RunReport",
]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """How a model runs, whatever the runtime.

    Attributes
    ----------
    instances : int
        How many executions may go on at the same time.
    threads : int or None
        Threads one execution uses; None divides the CPUs this process may use by ``instances``.
    parameters : mapping of str to str
        The configuration's ``parameters``, passed through.
    graph_level : int or None
        ``optimization.graph.level`` in Triton's meaning for the onnxruntime backend: -1 basic, 1 extended,
        2 off.
    accelerators : sequence of (str, mapping of str to str)
        ``optimization.execution_accelerators`` that concern this device, in order.
    providers : sequence or None
        The caller's own execution providers, in onnxruntime's form; overrides ``accelerators``.
    relaxed : frozenset of str
        Inputs whose dims, as the file declares them, the configuration calls variable.
    slots : int
        Batches of one instance that may be in flight on a device: copied in, computed, copied out.
    batched : bool or None
        Whether the first axis counts independent rows (``max_batch_size`` above 0); None leaves it to the file.
    pool_bytes, pinned_pool_bytes : int or None
        What the device's memory pool, and the one of pinned host memory, take at once when they are opened; None
        lets them grow by what is needed.
    """

    instances: int = 1
    threads: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    graph_level: int | None = None
    accelerators: Sequence[tuple[str, Mapping[str, str]]] = ()
    providers: Sequence[Any] | None = None
    relaxed: frozenset[str] = frozenset()
    slots: int = 2
    batched: bool | None = None
    pool_bytes: int | None = None
    pinned_pool_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceTarget:
    """The device a model is loaded to.

    Attributes
    ----------
    kind : {"cpu", "npu", "sim"}
    index : int
        As the runtime counts them.
    libraries : tuple of str
        For "npu" and "sim": the files of the ACL library, the one to open first.
    """

    kind: Literal["cpu", "npu", "sim"] = "cpu"
    index: int = 0
    libraries: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.index}"


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What to load.

    Attributes
    ----------
    model : str
        Name for messages.
    path : Path
        The model file.
    options : BackendOptions
    device : DeviceTarget
    first_instance : int
        Number of the first of its instances: those of a model are counted across its devices.
    """

    model: str
    path: Path
    options: BackendOptions = field(default_factory=BackendOptions)
    device: DeviceTarget = field(default_factory=DeviceTarget)
    first_instance: int = 0


class Executable(Protocol):
    """One copy of a model: runs ``slots`` batches at a time, on whichever threads call it.

    Attributes
    ----------
    device : str
        The one device it runs on: ``"cpu"``, ``"npu:0"``.
    slots : int
    interruptible : bool
        While ``execute`` waits, Ctrl-C gets through on the main thread and ``cancellation.requested`` is looked at, so
        that it need not be called on a thread of its own to be left.
    gathers : bool
        ``execute`` also takes, in place of an array, a list of arrays whose rows follow each other, and copies each
        once to where it is needed.
    """

    @property
    def device(self) -> str:
        """Where it runs."""
        ...

    @property
    def slots(self) -> int:
        """Batches that may run at the same time."""
        ...

    @property
    def interruptible(self) -> bool:
        """Whether a caller can leave ``execute`` by itself."""
        ...

    @property
    def gathers(self) -> bool:
        """Whether inputs may be lists of arrays, one for each request of a batch."""
        ...

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[Array]:
        """Run one batch; blocks, with the GIL released while the model computes.

        Parameters
        ----------
        inputs : mapping of str to ndarray
            By the model's own names. Borrowed until this returns.
        outputs : sequence of str
            Wanted outputs by the model's own names.
        out : mapping of str to ndarray, optional
            Arrays into which these outputs are written; C-contiguous, of the output's dtype and exact shape.
        cancellation : Cancellation, optional
            Armed while the model runs where the runtime can be stopped.

        Returns
        -------
        list of ndarray
            One per wanted output, in order, owned by the caller (those of ``out`` are the arrays given).

        Raises
        ------
        RequestCancelledError
            ``cancellation`` was requested.
        ModelExecutionError
            The model failed.
        """
        ...


@runtime_checkable
class ManyExecutable(Executable, Protocol):
    """An executable that can run several requests in one call; not every backend's can.

    For who has many requests at hand that are not, or cannot be, one batch: whether an executable is one is asked
    once, with ``isinstance``.
    """

    def execute_many(
        self,
        requests: Sequence[Mapping[str, Array]],
        outputs: Sequence[str],
        cancellation: Cancellation | None = None,
    ) -> list[list[Array] | AscendInferError]:
        """Run requests one after another; blocks until all are done, with the GIL released once around all of them.

        Each is computed as ``execute`` would compute it alone, and gives the same numbers; they need not have the
        same shapes. One that fails takes none of the others with it.

        Parameters
        ----------
        requests : sequence of mapping of str to ndarray
            Each the inputs of one request, as in ``execute``; borrowed until this returns.
        outputs : sequence of str
            Wanted of each of them.
        cancellation : Cancellation, optional
            Armed while they run; ends the one that runs and those behind it.

        Returns
        -------
        list
            One entry for each request, in order: its outputs, in the order asked for and owned by the caller, or the
            error with which it failed, not raised.
        """
        ...


class RunReport(Protocol):
    """What a run tells of itself; the caller's object, written by ``execute``.

    Attributes
    ----------
    padded_rows : int
        Rows that were computed on top of those asked for.
    gear : str or None
        The compiled size, where the model has several.
    gathered, computed : int
        When the inputs were together, and when the outputs had arrived: ``time.perf_counter_ns()``. Of several runs
        the first one's and the last one's.
    device_ns : int
        What the device took, without the batches before it.
    """

    padded_rows: int
    gear: Any
    gathered: int
    computed: int
    device_ns: int


class ReportingExecutable(Executable, Protocol):
    """An executable that tells what its runs came to, where its ``reports`` is true; not every backend's can."""

    @property
    def reports(self) -> bool:
        """Whether ``execute`` takes a report."""
        ...

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
        report: RunReport | None = None,
    ) -> list[Array]:
        """Run one batch, and fill in the report where it succeeds."""
        ...


class RecoverableExecutable(Executable, Protocol):
    """An executable that a fault of its device may end, and that can then be loaded anew."""

    @property
    def faulted(self) -> bool:
        """Whether a fault has ended it, so that nothing runs before ``recover``."""
        ...

    def recover(self) -> None:
        """Load it anew where a fault has ended it; blocks. Called after the failed run, from any thread.

        Raises
        ------
        DeviceLostError, AscendInferError
            There is nothing to load it to any more; it could not be loaded now.
        """
        ...


class LeavingExecutable(Executable, Protocol):
    """An executable that leaves runs to the device at their callers' wish, and then calls ``on_left``."""

    on_left: Callable[[], None] | None

    def reclaim(self) -> int:
        """Return for how many ns the oldest run that was left goes on since then, 0 if all ended; waits some ms."""
        ...


class LoadedModel(Protocol):
    """A model in memory, with as many executables as were asked for.

    Derive from it: ``close_within`` comes with it.
    """

    @property
    def spec(self) -> ModelSpec:
        """The signature, as the runtime states it."""
        ...

    @property
    def device(self) -> str:
        """Where it runs: ``"cpu"``, ``"npu:0"``, ``"npu:0,npu:1"``."""
        ...

    @property
    def details(self) -> Mapping[str, str]:
        """Facts worth showing: runtime and version, providers, threads, precision."""
        ...

    def executables(self) -> Sequence[Executable]:
        """Return the executables, one per instance; the same objects each time."""
        ...

    def close(self) -> None:
        """Give everything back; executions under way finish first by their own references. Idempotent."""
        ...

    def close_within(self, seconds: float) -> bool:
        """Close if what runs ends within some seconds; returns whether it has. If not, it may be asked again.

        This one closes, however long that takes: override it where a device may hang.
        """
        self.close()
        return True


class Backend(Protocol):
    """A runtime that can load model files."""

    def load(self, request: LoadRequest) -> LoadedModel:
        """Load a model; blocks.

        Raises
        ------
        ModelLoadError
            The runtime refuses the file or an option.
        """
        ...
