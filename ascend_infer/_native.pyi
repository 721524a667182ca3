# Stub of the compiled core (_ext/_native.pyx); docstrings stand here, where editors and people look for them.
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex, final

from typing_extensions import disjoint_base

from ascend_infer.memory import OwnerUsage, PoolStats
from ascend_infer.metrics.snapshot import CountersSnapshot

@final
class MemoryPool:
    """Memory taken from an upstream in large regions and handed out in blocks: best fit, merged when freed.

    Comes from :func:`counting_pool` or :func:`host_pool`. Every method may be called from any thread.

    Lifetime: each block keeps its pool alive; a pool that is dropped gives all its regions back. As a context
    manager it closes itself.
    """

    @property
    def name(self) -> str:
        """What the pool is called in error texts."""

    @property
    def host_accessible(self) -> bool:
        """Whether the CPU may touch its memory, so that blocks have the buffer protocol."""

    @property
    def closed(self) -> bool: ...
    def stride(self, nbytes: SupportsIndex) -> int:
        """Bytes that a block of `nbytes` takes in the pool: rounded up to 32, 32 more, rounded up to 512."""

    def allocate(self, nbytes: SupportsIndex, owner: str = "unnamed") -> Block:
        """Take a block; its contents are undefined.

        Waits for the upstream only when the pool has to grow; the GIL is released.

        Parameters
        ----------
        nbytes : int
            1 to 2**62.
        owner : str
            Who is charged in :meth:`owners`: ``"weights of resnet50"``.

        Returns
        -------
        Block
            Active until its ``free``, or until it is dropped. Starts at a multiple of 64 bytes.

        Raises
        ------
        InvalidOptionError
            `nbytes` or `owner` is of another type or range.
        PoolLimitError
            The pool's own bound is reached, even after a trim.
        DeviceOutOfMemoryError, HostOutOfMemoryError
            The upstream has no memory, even after a trim.
        ClosedError
            The pool is closed.
        MemoryBlockError
            With ``guard``: somebody wrote into free memory.
        AclError
            The upstream failed for another reason.
        """

    def stats(self) -> PoolStats:
        """All numbers at one moment."""

    def owners(self) -> tuple[OwnerUsage, ...]:
        """Owners of active blocks, those with the most bytes first."""

    def trim(self) -> int:
        """Give regions without any active block back to the upstream, but for the preallocated one.

        Returns
        -------
        int
            Bytes given back.
        """

    def start_recording(self, most_events: SupportsIndex = 1_000_000) -> None:
        """Record requests and frees from now on, up to `most_events` (16 bytes each, taken at once).

        Starting again forgets what was recorded.
        """

    def stop_recording(self) -> str:
        """Stop, and give what was recorded: ``+ ID BYTES`` or ``- ID`` a line, as benchmarks/pool_replay.py reads it.

        Blocks that were active before the recording do not appear.
        """

    def close(self) -> None:
        """Allocate no more; give each region back as soon as no block in it is active. Idempotent.

        Blocks stay valid until they are freed.
        """

    def __enter__(self) -> MemoryPool: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __reduce__(self) -> NoReturn: ...

@final
class Block:
    """A piece of a pool's memory, in one owner's hand.

    With host memory it has the buffer protocol: writable, one dimension of unsigned bytes. While a view lives
    (``memoryview``, an array on it) the memory is not used again, even after ``free``.

    Lifetime: keeps its pool alive. Freed by ``free``, at the end of a ``with`` statement, or when dropped.
    """

    @property
    def address(self) -> int:
        """Where it starts, on the device or the host. ClosedError once freed."""

    @property
    def nbytes(self) -> int:
        """As asked for."""

    @property
    def owner(self) -> str: ...
    @property
    def pool(self) -> MemoryPool: ...
    @property
    def views(self) -> int:
        """Buffers that are exported now."""

    @property
    def freed(self) -> bool:
        """Whether ``free`` was called; the memory may still wait for views."""

    def free(self) -> None:
        """Give the memory back, now or when the last view is gone. Idempotent.

        Device work that uses the block must be finished: the pool does not wait for it.

        Raises
        ------
        MemoryBlockError
            With ``guard``: somebody wrote past its end. It is freed all the same.
        """

    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __enter__(self) -> Block: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> NoReturn: ...

def counting_pool(
    capacity_bytes: SupportsIndex,
    *,
    pool_bytes: SupportsIndex = 0,
    limit_bytes: SupportsIndex | None = None,
    growable: bool = True,
    failing_calls: Iterable[SupportsIndex] = (),
    upstream_extra: SupportsIndex = 0,
) -> MemoryPool:
    """Open a pool without memory: addresses that rise, a capacity that is a number. For tests and planning.

    Parameters
    ----------
    capacity_bytes : int
        What the pretended device has.
    pool_bytes : int
        Taken at once and kept until the pool closes.
    limit_bytes : int or None
        Most that the pool may take; None: the capacity.
    growable : bool
        False: `pool_bytes` is all there is.
    failing_calls : iterable of int
        Numbers (from 1) of the calls of the upstream that fail for want of memory.
    upstream_extra : int
        Bytes that the upstream adds to each request by itself (aclrtMalloc: 32); regions are made to fit its pages
        with them.

    Raises
    ------
    InvalidOptionError
        An argument's type or range, or arguments that contradict each other.
    DeviceOutOfMemoryError
        `pool_bytes` cannot be had.
    """

def host_pool(
    *,
    pool_bytes: SupportsIndex = 0,
    limit_bytes: SupportsIndex | None = None,
    growable: bool = True,
    guard: bool = False,
) -> MemoryPool:
    """Open a pool of ordinary host memory.

    Parameters
    ----------
    pool_bytes, limit_bytes, growable
        As of :func:`counting_pool`.
    guard : bool
        Fill free memory and the room behind each block with patterns and look at them again, under the pool's lock:
        finds writes past a block's end and into freed blocks. Slow; for debugging.

    Raises
    ------
    InvalidOptionError
        An argument's type or range, or arguments that contradict each other.
    HostOutOfMemoryError
        `pool_bytes` cannot be had.
    """

@final
class ModelCounters:
    """What one loaded model counts: plain integers, tens of nanoseconds a call.

    Parameters
    ----------
    response_bounds_ms : iterable of float
        Rising upper bounds of Triton's histogram of response times, in milliseconds.

    Raises
    ------
    InvalidOptionError
        Bounds that do not rise, or are no milliseconds.

    Notes
    -----
    All times given are nanoseconds. Thread safety: every method is one step under the GIL. Code in the extension
    calls ``batch_done``, ``request_done`` and ``request_failed``, of the same arguments as the ``record_`` methods.
    """

    pending: int
    """Requests that wait for an instance; the scheduler adds and takes away."""

    def __init__(self, *, response_bounds_ms: Iterable[float] = (100, 500, 2000, 5000)) -> None: ...
    def record_batch(
        self, rows: SupportsIndex, padded_rows: SupportsIndex, input_ns: int, infer_ns: int, output_ns: int
    ) -> None:
        """Count an execution, also one that failed.

        Parameters
        ----------
        rows : int
            Rows of all its requests.
        padded_rows : int
            Rows of padding that were computed on top of them; 0 where it ran as it was.
        input_ns, infer_ns, output_ns : int
            Gathering and copying in, the model, copying out.
        """

    def record_request(
        self,
        rows: SupportsIndex,
        request_ns: int,
        queue_ns: int,
        input_ns: int,
        infer_ns: int,
        output_ns: int,
    ) -> None:
        """Count a request that was answered.

        Parameters
        ----------
        rows : int
            Its own; 0 counts as 1.
        request_ns : int
            From the call to the answer.
        queue_ns : int
            Until an instance took it.
        input_ns, infer_ns, output_ns : int
            Those of the whole batch that it ran in.
        """

    def record_failure(self, reason: int, request_ns: int) -> None:
        """Count a request that failed: 0 REJECTED, 1 CANCELED, 2 BACKEND, 3 and all else OTHER."""

    def keep_window(self, seconds: float) -> None:
        """From now on keep histograms of the last ``seconds`` too, in steps of a fifth; once.

        Raises
        ------
        InvalidOptionError
            Not 0 < seconds < 1e9.
        MemoryError
            No room for them (about 250 KB).
        """

    def rotate_window(self, now_ns: int | None = None) -> None:
        """Let what is older than the window leave it, by ``time.monotonic_ns()``; batches and snapshots do so too."""

    def snapshot(self) -> CountersSnapshot:
        """Read everything at one moment; about 20 us."""

    def __reduce__(self) -> NoReturn: ...

@final
class AclLibrary:
    """An ACL C library that was opened; never closed, one per path and process.

    Comes from :func:`open_acl_library`. May be used from any thread.
    """

    @property
    def path(self) -> str: ...
    @property
    def is_simulator(self) -> bool:
        """Whether no device stands behind it."""

    @property
    def symbols(self) -> tuple[tuple[str, bool, str, bool], ...]:
        """Every known function: its name, whether all CANN have it, the first CANN that has, whether it is there."""

    def address(self, name: str) -> int:
        """Where a function is in this process, 0 when this library has none of its name.

        Raises
        ------
        KeyError
            Nobody listed it.
        """

    def device_count(self) -> int:
        """Ask how many devices there are; initialises ACL for that, and gives it back.

        Raises
        ------
        AclError
            The runtime failed: no driver, a wrong ``ASCEND_RT_VISIBLE_DEVICES``.
        ForkError
            The process was forked off one that uses ACL.
        """

    def __reduce__(self) -> NoReturn: ...

def open_acl_library(
    path: str | PathLike[str], companions: Iterable[str | PathLike[str]] = (), *, global_symbols: bool
) -> AclLibrary:
    """Load an ACL library, for good; blocks, with the GIL released. Initialises nothing.

    Parameters
    ----------
    path : path-like
        ``libascendcl.so``, or one of the halves that CANN 8.5 and later split it into.
    companions : iterable of path-like
        The other files; functions are looked up in all of them, in order.
    global_symbols : bool
        Make its symbols visible to libraries that are loaded later: CANN's plugins need that, the simulator must
        not.

    Raises
    ------
    LibraryError
        The dynamic linker's reason, or every function that is missing and that no CANN lacks.
    """

def pause_work(timeout_ms: int) -> bool:
    """Wait until no batch is in flight and hold new ones back; False when that took too long.

    A child process must not be started while a copy is in flight. Each True needs a :func:`resume_work`. Blocks,
    with the GIL released; batches that are let go on wait without it.
    """

def resume_work() -> None:
    """Let batches go on after :func:`pause_work`."""

def set_exiting() -> None:
    """Call nothing of ACL from here on: what is open is left to the operating system. For the interpreter's end."""

@final
class AclDevice:
    """A device in our hands: its primary context, which other users of ACL in the process share.

    Comes from :func:`open_acl_device`. May be used from any thread: each call binds the context to its thread and puts
    the caller's own back. Everything on it must be closed before it is.
    """

    @property
    def library(self) -> AclLibrary: ...
    @property
    def index(self) -> int: ...
    @property
    def soc_name(self) -> str:
        """``"Ascend310P3"``; empty where the library has no word for it."""

    @property
    def unified(self) -> bool:
        """Whether host and device are one memory, so that nothing is copied between them."""

    @property
    def closed(self) -> bool: ...
    def memory(self) -> tuple[int, int, str]:
        """Free and total bytes of the device, other processes counted, and ``"HBM"`` or ``"DDR"``."""

    def utilization(self) -> float | None:
        """How busy its cores are, 0 to 1: cube or vector cores, whichever are more; None where ACL cannot say."""

    def model_sizes(self, path: str | PathLike[str]) -> tuple[int, int]:
        """Bytes of workspace and weights that a load of this file wants; loads nothing.

        Raises
        ------
        AclError
            The runtime cannot read the file.
        """

    def device_pool(
        self,
        *,
        pool_bytes: SupportsIndex = 0,
        limit_bytes: SupportsIndex | None = None,
        growable: bool = True,
    ) -> MemoryPool:
        """Open a pool of device memory; parameters as of :func:`host_pool`."""

    def pinned_pool(
        self,
        *,
        pool_bytes: SupportsIndex = 0,
        limit_bytes: SupportsIndex | None = None,
        growable: bool = True,
    ) -> MemoryPool:
        """Open a pool of pinned host memory, which the device copies from and to."""

    def synchronise(self) -> None:
        """Wait until the device has done all that was queued on it."""

    def reap(self) -> None:
        """Give back what was dropped without ``close()``."""

    def close(self) -> None:
        """Give the device back; idempotent. Blocks until its default stream is idle."""

    def __enter__(self) -> AclDevice: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __reduce__(self) -> NoReturn: ...

def open_acl_device(library: AclLibrary, index: int) -> AclDevice:
    """Open a device, ACL initialised if need be; the first of a process may take seconds.

    Raises
    ------
    InvalidOptionError
        There is no such device.
    AclError
        The runtime or the driver failed.
    ForkError
        The process was forked off one that uses ACL.
    """

@final
class LeasedOutput:
    """Pinned memory with one output in it, back in the pool when the last array over it is gone."""

    def __len__(self) -> int: ...

@disjoint_base
class RunReport:
    """What a run tells of itself to whoever wants to know; see ``backends.base.RunReport``."""

    padded_rows: int
    gear: Any
    gathered: int
    computed: int
    device_ns: int

@final
class AclLaunch:
    """What batches of the same shapes come to, worked out once.

    Parameters
    ----------
    gear, wanted
        As in :meth:`AclInstance.run`; the last entry of each of ``wanted`` is not looked at.
    padded_rows, label
        For reports.
    observe : callable, optional
        Told after each run how many nanoseconds the device took.
    """

    def __init__(
        self,
        gear: int,
        wanted: Iterable[tuple[Any, ...]],
        padded_rows: int = 0,
        label: object = None,
        observe: Callable[[int], object] | None = None,
    ) -> None: ...
    @property
    def padded_rows(self) -> int: ...
    @property
    def label(self) -> object: ...

@final
class AclInstance:
    """One loaded copy of a model, its streams and slots. Comes from :func:`open_acl_instance`.

    Any number of threads may call ``run``; as many batches as there are slots are in flight at once. Dropped without
    ``close()``, it is given back by its device's next ``reap()``.
    """

    @property
    def name(self) -> str: ...
    @property
    def slots(self) -> int: ...
    @property
    def model_id(self) -> int: ...
    @property
    def retired(self) -> bool:
        """Whether a device fault has ended it: it runs nothing any more."""

    @property
    def left(self) -> bool:
        """Whether some batch was left that the device may still go on with."""

    def reclaim(self) -> int:
        """Return for how many ns the oldest batch that was left goes on since then; 0 if all have ended.

        Those that have ended give their slots back. Waits for the device some ms at most.
        """

    @property
    def batches(self) -> int:
        """Batches that were launched."""

    @property
    def closed(self) -> bool: ...
    def description(self) -> dict[str, Any]:
        """What the library says of the model.

        ``shapes`` is ``"fixed"``, ``"batch"``, ``"hw"``, ``"dims"`` or ``"dynamic"``; ``inputs`` (without the hidden
        one) and ``outputs`` are tuples of name, aclDataType, aclFormat, dims, bytes, AIPP kind; ``gears``,
        ``gear_inputs`` and ``gear_outputs`` have one entry a gear.
        """

    def input_bytes(self, gear: int, position: int) -> int: ...
    def output_bytes(self, gear: int, index: int) -> int: ...
    def run(
        self,
        inputs: Sequence[Any],
        gear: int,
        wanted: Iterable[tuple[Any, ...]],
        go_on: Callable[[], bool] | None = None,
        report: RunReport | None = None,
    ) -> list[Any]:
        """Run one batch; blocks, with the GIL released. Not for models of dynamic shape.

        Parameters
        ----------
        inputs : sequence
            One for each input that callers feed, C-contiguous, or a ``DevicePointer``; a list is gathered, one behind
            the other. What is missing to the gear's size is filled with zeros.
        gear : int
            Index into the description's gears, -1 for a model without.
        wanted : iterable of (index, shape, dtype, nbytes, leased, out)
            Outputs and what comes back of each: its first ``nbytes``, in pinned memory (``leased``, if there is some
            left), in the array ``out``, or in a new array.
        go_on : callable, optional
            Asked every 50 ms; False lets go of the batch, which the device then finishes by itself.
        report : RunReport, optional
            Given the run's times.

        Returns
        -------
        list of ndarray

        Raises
        ------
        InvalidInputError
            Sizes that the model does not have; nothing was launched.
        AclError
            The runtime failed; look at ``retired``.
        RequestCancelledError
            ``go_on`` said no.
        ClosedError, ForkError
        """

    def run_known(
        self,
        launches: dict[Any, AclLaunch],
        names: tuple[str, ...],
        inputs: Any,
        outputs: tuple[str, ...],
        report: RunReport | None = None,
        go_on: Callable[[], bool] | None = None,
    ) -> list[Any] | None:
        """Run one batch as a launch that was worked out before; as :meth:`run`.

        Parameters
        ----------
        launches : dict
            By (``outputs``, shape of the first input, of the second, ...).
        names : tuple of str
            Of the inputs, in the model's order.
        inputs : mapping
            By name: an array, or a list of arrays whose rows follow each other.

        Returns
        -------
        list of ndarray or None
            None where nothing ran: no such launch, an input that is no C-contiguous array, a retired instance.
        """

    def run_dynamic(
        self,
        inputs: Sequence[Any],
        shapes: Sequence[Sequence[int]],
        wanted: Iterable[int],
        dtypes: Sequence[Any],
        go_on: Callable[[], bool] | None = None,
        report: RunReport | None = None,
    ) -> list[Any]:
        """Run one batch of a model of true dynamic shape; as :meth:`run`, the library allocates the outputs.

        The run itself cannot be interrupted. ``dtypes`` has one entry for each of ``wanted``.
        """

    def close(self, timeout_ms: int = -1) -> None:
        """Take no more batches, wait for those that run, unload, give everything back. Idempotent; blocks.

        Raises
        ------
        AclTimeoutError
            Batches still ran after ``timeout_ms`` (-1: no limit); nothing was given back, call it again.
        AclError
            The first call that failed; everything else was given back.
        """

    def __enter__(self) -> AclInstance: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __reduce__(self) -> NoReturn: ...

def open_acl_instance(
    device: AclDevice,
    device_pool: MemoryPool,
    pinned_pool: MemoryPool,
    path: str | PathLike[str],
    *,
    name: str,
    slots: int = 2,
    work_bytes: SupportsIndex = 0,
    weights: Block | None = None,
) -> AclInstance:
    """Load a model from its file; blocks, with the GIL released.

    Parameters
    ----------
    device_pool, pinned_pool : MemoryPool
        Of this device.
    name : str
        For the pools' books.
    slots : int
        Batches in flight; a model of dynamic shape has one.
    work_bytes : int
        Workspace to take from the pool; 0 lets the library allocate its own, as models of dynamic shape do anyway.
    weights : Block, optional
        Device memory for the weights, of at least their size; kept as long as the instance lives, and shared by
        instances of the same file.

    Raises
    ------
    ModelLoadError
        The model cannot be run here: dynamic AIPP, an element type without a size.
    AclError, DeviceOutOfMemoryError, PoolLimitError
        Nothing stays behind.
    """

class OrtError(Exception):
    """onnxruntime refused something or failed; ``text`` is its own message, ``code`` an OrtErrorCode."""

    code: int
    text: str
    def __init__(self, code: int, text: str) -> None: ...

@final
class OrtStop:
    """What ends a run. Comes from :meth:`OrtSession.new_stop`, one for each run."""

    def terminate(self) -> None:
        """End the run that has it, between two of its operators, and every later one; from any thread, at once."""

@final
class OrtSession:
    """An ONNX model in onnxruntime's own library. Comes from :func:`open_ort_session`.

    Any number of threads may call ``run`` and ``run_many``. Dropping it ends it, once no run is in it; results stay
    valid. It cannot be used, and does no harm when dropped, in a child that was forked later.
    """

    @property
    def inputs(self) -> tuple[tuple[str, int, tuple[int, ...], bool], ...]:
        """Of each input name, ONNX element type (0: no tensor), dims (-1: open), and whether it may be left out.

        Those that may be left out come last.
        """

    @property
    def outputs(self) -> tuple[tuple[str, int, tuple[int, ...], bool], ...]:
        """As ``inputs``."""

    @property
    def version(self) -> str:
        """onnxruntime's."""

    def expect(
        self, shapes: Sequence[Sequence[int | tuple[int, int]] | None], *, timed_by_shapes: bool = False
    ) -> None:
        """Say beforehand what is known of outputs; not while anything runs.

        Parameters
        ----------
        shapes : sequence
            Per output its dims, each a size or the (input, axis) that has it: onnxruntime then writes straight into
            the result. None: known after a run only. A model that gives another shape all the same is run again
            and not believed any more.
        timed_by_shapes : bool
            Inputs of the same shapes always take the same time. Runs that were measured to take less than 10 us then
            keep the GIL: letting it go and getting it back takes longer.
        """

    def new_stop(self) -> OrtStop:
        """Make what ends a run, for one run."""

    def run(
        self,
        arrays: list[Any],
        outputs: tuple[int, ...],
        out: list[Any] | None = None,
        stop: OrtStop | None = None,
    ) -> list[Any]:
        """Run the model once; blocks, with the GIL released but for the shortest runs (``expect``).

        Parameters
        ----------
        arrays : list of (ndarray or None)
            In the order of ``inputs``, C-contiguous and aligned, of exactly the input's type; None or nothing for
            those left out. Borrowed until this returns.
        outputs : tuple of int
            Indices into ``outputs``.
        out : list of (ndarray or None), optional
            One for each of ``outputs``: written in place and returned where its shape is known beforehand and fits;
            otherwise the result is a new array.
        stop : OrtStop, optional
            Its ``terminate`` ends this run.

        Returns
        -------
        list of ndarray
            One for each of ``outputs``, owned by the caller: new memory, or onnxruntime's own, which then goes with
            the last array over it.

        Raises
        ------
        InvalidInputError
            An array of another kind; nothing ran.
        OrtError
            The run failed or was stopped.
        ForkError
        """

    def run_many(
        self, requests: list[list[Any]], outputs: tuple[int, ...], stop: OrtStop | None = None
    ) -> list[list[Any] | Exception]:
        """Run requests one after another, with the GIL released once around all of them.

        Returns
        -------
        list
            For each request what ``run`` returns, or the exception that it raises.
        """

    def __reduce__(self) -> NoReturn: ...

def ort_version(library: str | PathLike[str]) -> str:
    """Return the version of an onnxruntime library, which is loaded for it and stays.

    Raises
    ------
    LibraryError
        It cannot be loaded, or is no onnxruntime.
    """

def open_ort_session(
    library: str | PathLike[str],
    source: str | PathLike[str] | bytes,
    *,
    intra_threads: int = 0,
    inter_threads: int = 0,
    parallel: bool = False,
    graph_level: int = 99,
    log_severity: int = 4,
    mem_arena: bool | None = None,
    mem_pattern: bool | None = None,
    session_entries: Iterable[tuple[str, str]] = (),
    run_entries: Iterable[tuple[str, str]] = (),
) -> OrtSession:
    """Load an ONNX model; blocks, with the GIL released while the model is read and optimised.

    Parameters
    ----------
    library : path-like
        onnxruntime's shared library, 1.19 or newer; loaded once, with its telemetry off.
    source : path-like or bytes
        The model's file or its content, which is not needed any more afterwards.
    intra_threads, inter_threads : int
        0: onnxruntime's default. ``inter_threads`` count with ``parallel`` only.
    graph_level, log_severity : int
        GraphOptimizationLevel and OrtLoggingLevel.
    mem_arena, mem_pattern : bool, optional
        None: onnxruntime's default.
    session_entries, run_entries : iterable of (str, str)
        Configuration entries of the session, and of each run.

    Raises
    ------
    LibraryError
        The library cannot be loaded.
    OrtError
        onnxruntime refuses the model or a setting.
    """

def _retires_instance(code: int) -> bool: ...

# --- requests and who runs them --------------------------------------------------------------------------------------
#
# All of this is guarded by the GIL: each method is one step, as seen from other threads.

@final
class Request:
    """One call's inputs on their way to an instance, and what came of them. Comes from :func:`new_request`."""

    @property
    def arrays(self) -> list[Any]:
        """Inputs in the model's order, None for one left out; none of them once it is done."""

    @property
    def prepared(self) -> Any: ...
    @property
    def names(self) -> tuple[str, ...]:
        """Wanted outputs by the model's own names."""

    @property
    def key(self) -> object:
        """What must be equal in all requests of a batch: the shapes of inputs with open dims."""

    @property
    def request_id(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def level(self) -> int:
        """The priority asked for."""

    @property
    def state(self) -> int: ...
    @property
    def called(self) -> int:
        """When it was called; this and the other moments are ``time.perf_counter_ns``."""

    @property
    def queued(self) -> int: ...
    @property
    def ended(self) -> int: ...
    @property
    def timeout(self) -> int:
        """The caller's own, in nanoseconds; 0 for none."""

    @property
    def batch(self) -> RequestBatch | None: ...
    @property
    def outputs(self) -> list[Any] | None: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def parts(self) -> list[Request] | None:
        """Requests that travel in this one, see :meth:`RequestFront.join`."""

    @property
    def done(self) -> bool:
        """Whether there are outputs or an error."""

    @property
    def running(self) -> bool: ...
    @property
    def single(self) -> bool:
        """Whether it is one sample without a batch dimension."""

    @property
    def times(self) -> tuple[Any, ...]:
        """The fields of ``result.Timing``."""

    def take_outputs(self) -> list[Any]:
        """Return the outputs; the request lets go of them."""

def new_request(
    arrays: list[Any],
    names: tuple[str, ...],
    rows: int,
    *,
    prepared: Any = None,
    key: object = None,
    request_id: str = "",
    level: int = 0,
    called: int = 0,
    timeout: int = 0,
) -> Request:
    """Return a request; see its attributes. ``called`` 0 means now."""

@final
class RequestBatch(RunReport):
    """Requests that run together, and how that went. Results keep it for its numbers."""

    cancellation: Any
    @property
    def begun(self) -> int: ...
    @property
    def requests(self) -> list[Request] | None:
        """None once it is over."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every output that one of them wants."""

    @property
    def rows(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def instance(self) -> str: ...
    @property
    def ended(self) -> int: ...
    @property
    def may_be_left(self) -> bool:
        """Whether somebody may want the run itself to stop."""

    @property
    def wanted(self) -> bool:
        """Whether somebody still waits for it."""

    def parts(self, gathers: bool) -> list[Any]:
        """Return the inputs in the model's order: arrays, or lists of arrays where the executable gathers by itself.

        Rows of several requests are copied once.
        """

    def begin(self) -> None:
        """Begin now, where it did not when it was made."""

    def halves(self) -> tuple[RequestBatch, RequestBatch]:
        """Return two batches in this one's place."""

@final
class Lane:
    """What runs one batch at a time: one slot of an instance, with a thread of its own once it needs one.

    ``batch`` is what runs now; ``serve`` is what its own thread does.
    """

    usable: bool
    batch: RequestBatch | None
    serve: Any
    def __init__(
        self,
        executable: Any,
        name: str,
        inline: bool,
        instance: Any = None,
        counters: ModelCounters | None = None,
    ) -> None: ...
    @property
    def executable(self) -> Any: ...
    @property
    def instance(self) -> Any: ...
    @property
    def name(self) -> str: ...
    @property
    def inline(self) -> bool:
        """Whether callers' own threads may run it."""

    @property
    def counters(self) -> ModelCounters | None:
        """Its device's."""

    @property
    def interruptible(self) -> bool: ...
    @property
    def reports(self) -> bool:
        """Whether its runs tell what they came to."""

    @property
    def started(self) -> bool:
        """Whether its own thread runs."""

    @property
    def asleep(self) -> bool:
        """Whether it waits and nothing has woken it."""

@final
class OutputShapes:
    """What the outputs of a model's runs are held against."""

    def __init__(
        self,
        rules: Iterable[tuple[str, str, tuple[int, ...] | None, bool]] = (),
        *,
        batched: bool = True,
        guessed: bool = False,
    ) -> None:
        """Take the rules of the outputs.

        Parameters
        ----------
        rules : iterable of tuple
            Of each output the model's own name, the name for messages, the dims without the batch (-1 where any size
            will do; None for any dims), and whether its rows may be any too. Outputs without a rule may have any dims.
        batched : bool
            Whether the first dimension of outputs is that of the inputs.
        guessed : bool
            Whether nobody said so: what runs by itself may have any number of rows then.
        """

@final
class RequestQueue:
    """Who waits, who runs, who leads: the requests of one model.

    Lanes that run nothing are free. One of them is the leader: its thread waits until the policy says that a batch
    goes, takes it, and appoints the next. An arriving request wakes the leader only where that may change the decision.
    """

    def __init__(
        self,
        model: str,
        *,
        lanes: Iterable[Lane],
        watch: Callable[[RequestQueue, int], None],
        abandoned: Callable[[RequestBatch], None] | None = None,
        recover: Callable[[Lane], None] | None = None,
        counters: ModelCounters | None = None,
        decide: Callable[..., Any] | None = None,
        rules: Any = None,
        summary: Any = None,
        ordered: bool = False,
        level_rules: Sequence[Any] = ...,
        level_of: Callable[[int], int] | None = None,
    ) -> None:
        """Make a queue.

        Parameters
        ----------
        lanes : iterable of Lane
            Each with what its own thread does as ``serve``, which calls :meth:`take` until it gives None.
        watch : callable
            Told when something has to be looked at by :meth:`expire` although no thread of a caller waits for it.
        abandoned : callable
            Told of a batch that runs and that nobody wants any more.
        recover : callable
            Loads the instance of a lane anew that a fault has ended, on the lane's own thread; ends with
            :meth:`resume` or :meth:`retire`.
        decide, rules, summary
            ``scheduling.policy``'s; without ``decide`` each request runs by itself.
        ordered : bool
            Results are handed out in the order of the requests.
        level_rules, level_of
            Queue policy of each priority level, and the level of a request's priority.
        """

    @property
    def model(self) -> str: ...
    @property
    def count(self) -> int:
        """Requests that wait."""

    @property
    def rows(self) -> int: ...
    @property
    def longest(self) -> int:
        """Nanoseconds of the longest run that has ended and that somebody waited for to its end."""

    @property
    def running(self) -> int:
        """Lanes that run."""

    @property
    def usable(self) -> int:
        """Lanes in service."""

    @property
    def max_rows(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def counters(self) -> ModelCounters | None: ...
    def set_rules(self, rules: Any) -> None:
        """Go on with other rules: costs of compiled sizes that were measured meanwhile."""

    def head(self) -> Any:
        """Return what the policy is told of the queue, ``summary``, filled anew."""

    @property
    def leader_until(self) -> int:
        """When the leader looks again if nothing wakes it; 0 for never."""

    @property
    def seeking(self) -> int:
        """Callers that wait for room."""

    @property
    def calling(self) -> bool:
        """Whether there is a thread that calls users' callbacks."""

    @property
    def calls_elsewhere(self) -> bool:
        """Whether there is one, and it is not the thread that asks."""

    def call_back(self) -> None:
        """Call what users want to be called, until there is no more; what that thread does."""

    def push(
        self,
        request: Request,
        on_done: Callable[[Request], Callable[[], object] | None],
        now: int = 0,
        waits: bool = False,
    ) -> None:
        """Queue a request; returns at once, or with ``waits`` when the queue has room for it.

        ``on_done`` is called with it once, by the thread that ended it. What it does must be short: it may keep a
        clock waiting. It returns what users want to be called, if anything: that is called by the lane's thread that
        ran the request or by the thread that cancelled it, else by a thread of the queue, which is there only while
        it has something to call; always when all that ended with it have been told. ``now``: when it came, in place
        of the clock.

        Raises
        ------
        ClosedError, QueueFullError, InstanceUnavailableError
        DeadlineExceededError
            There was no room in time.
        """

    def run_here(self, request: Request, work: Callable[[Lane], list[Any]]) -> bool:
        """Run ``work(lane)`` on the caller's own thread if nothing waits and a lane is idle; returns whether it did.

        On a lane's own thread, in a callback, it always does.

        One step, so that no signal comes between taking a lane and giving it back. Raises what ``work`` raises.
        """

    def serves_here(self) -> bool:
        """Whether this is a lane's own thread, which must not wait for an answer."""

    def run_queued(self, request: Request) -> None:
        """Queue a request and block until it is done; raises its error.

        A signal's handler that raises ends the wait and cancels the request. Also raises as :meth:`push`.
        """

    def take(self, lane: Lane, at: int = 0) -> RequestBatch | None:
        """Wait for a batch to run on this lane's own thread, None when that is to end. Ends the batch before.

        With a moment ``at`` nothing is waited for: None also where there is nothing to run yet.
        """

    def expect(self, shapes: OutputShapes) -> None:
        """Hold what runs give against these shapes from now on; before, against the rows of their inputs alone."""

    def check(self, request: Request, arrays: list[Any]) -> int:
        """Raise the ModelExecutionError of a request by itself whose outputs have wrong shapes."""

    def complete(
        self, batch: RequestBatch, arrays: list[Any], answers: list[list[Any]] | None = None
    ) -> None:
        """Give each request of a batch its rows; ``arrays`` in the order of the batch's names.

        ``answers``, where given, has each request's own outputs instead, in the order of its names.
        """

    def fail(self, batch: RequestBatch, error: BaseException, reason: int = 2) -> None:
        """End all requests of a batch with one error; ``reason`` in the order of nv_inference_request_failure."""

    def cancel(self, request: Request) -> bool:
        """Take a request back; returns whether it will have no result. What runs already is let finish."""

    def expire(self, now: int | None = None) -> int:
        """End or put back what has waited too long; returns when to look again, 0 for never."""

    def count_refused(self, nanoseconds: int) -> None:
        """Count a request that was wrong at its call and never queued."""

    def retire(self, lane: Lane) -> None:
        """Take a lane out of service; its thread ends when it comes back. Without another one nothing is served."""

    def after_failure(self, lane: Lane) -> None:
        """Look at the instance on which a run has failed: one that a fault has ended takes no more work.

        The lane's own thread loads it anew. What is queued waits where there is no other instance.
        """

    def resume(self, instance: Any) -> None:
        """Give an instance work again that was loaded anew."""

    def restore(self, lane: Lane) -> None:
        """Take a lane back into service; one that still runs a batch is free when that is over."""

    def desert(self, batch: RequestBatch, error: BaseException) -> None:
        """End the requests of a run that nobody waits for any longer; what comes of it is dropped."""

    def drop(self, batch: RequestBatch) -> None:
        """End a batch that nobody wants any more before it ran."""

    def split(self, batch: RequestBatch) -> tuple[RequestBatch, RequestBatch]:
        """Return two batches in place of one on which the model failed; counts that execution."""

    def unavailable(self) -> BaseException:
        """Return the error of a model whose instances are all out of service."""

    def close(self, cancel_pending: bool = False) -> None:
        """Refuse new requests; those that wait are served, or ended with ClosedError. Returns at once."""

@final
class InferCall:
    """A request that one event loop waits for; a coroutine, so that ``create_task`` takes it."""

    def __await__(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...
    def send(self, value: Any) -> Any: ...
    def throw(self, kind: Any, value: Any = None, traceback: Any = None) -> Any: ...
    def close(self) -> None: ...

@final
class LoopBridge:
    """Hands finished requests to one event loop: one wake-up for all that end before it gets to run."""

    def __init__(self, loop: Any) -> None: ...
    def call(self, queue: RequestQueue, request: Request, finish: Callable[[Request], Any]) -> InferCall:
        """Queue a request whose result is awaited in this loop."""

    def drain(self) -> None: ...

@final
class RunTimes:
    """How long runs of the same shapes took."""

    def __init__(self, known: dict[Any, int]) -> None:
        """Keep them in a dict of shapes and nanoseconds."""

    def takes_long(self, arrays: list[Any]) -> bool:
        """Return whether a run may take longer than so many nanoseconds, or than Ctrl-C may wait; an unknown may."""

    def remember(self, arrays: list[Any], took: int) -> None:
        """Take a run of so many nanoseconds into account."""

@final
class RequestFront:
    """A session's calls, from arrays to results, where there is nothing special about them."""

    def __init__(
        self,
        queue: RequestQueue,
        signature: Any,
        origin: Any,
        result: Callable[..., Any],
        *,
        names: Iterable[str],
        public_names: Iterable[str] | None,
        model_inputs: Iterable[str],
        keyed: Iterable[str],
        times: RunTimes,
    ) -> None: ...
    @property
    def joins(self) -> bool:
        """Whether rows of several requests may travel as one."""

    def request(self, inputs: Any, request_id: Any = "") -> Request | None:
        """Return the request of these inputs, or None where it takes a closer look."""

    def infer(self, inputs: Any, request_id: Any = "") -> Any:
        """Run a plain request and return its result; blocks. None where it takes a closer look."""

    def result_of(self, request: Request) -> Any:
        """Return the result of a request that is done; raises its error."""

    def join(
        self, items: Any, chunk: int, timeout: int = 0, busy: bool = False
    ) -> tuple[Request | None, list[Any]]:
        """Take requests of up to ``chunk`` rows from an iterator, as one; and the item at which it stopped short.

        Fewer where the iterator is slow; where instances are ``busy`` it may take as long as such a request runs.
        """

    def apart(self, part: Request, timeout: int = 0) -> Request:
        """Return a request that travelled in another one and is to be sent by itself now."""

    def results_of(self, joined: Request) -> list[Any]:
        """Return the results of the requests that travelled in this one; raises its error."""
