"""Session: one loaded model in the user's hand."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ascend_infer.arrivals import pickled
from ascend_infer.calls import Calls
from ascend_infer.errors import AscendInferError, ClosedError, CopyError, ForkError
from ascend_infer.input_array import Casting
from ascend_infer.lifetime import close_model, inherited, reap, track
from ascend_infer.memory_pool import MemoryPool, pools_of
from ascend_infer.metrics.plot_method import PlotMethod
from ascend_infer.options import SessionOptions
from ascend_infer.scoring.method import ScoringMethod
from ascend_infer.timeouts import checked_timeout
from ascend_infer.types import ModelInstance, TensorSpec

if TYPE_CHECKING:
    from ascend_infer.config import ModelConfig
    from ascend_infer.gears import GearExplanation
    from ascend_infer.loading import Loaded
    from ascend_infer.metrics import SessionStats
    from ascend_infer.scheduling.batching import Batching

__all__ = ["Session"]

logger = logging.getLogger("ascend_infer")


class Session(Calls, PlotMethod, ScoringMethod):
    """A model, loaded and ready to run in this process.

    Parameters
    ----------
    path : path-like
        A Triton model directory (``config.pbtxt`` and numbered version folders; the configuration may be
        left out), one version's folder, or a bare ``.onnx`` or ``.om`` file.
    version : int or str, optional
        Which version to load. None, and -1 or ``""`` as in Triton, is the highest that the version policy allows.
    device : str
        ``"auto"``, ``"cpu"``, ``"npu"``, ``"npu:1"``, ``"sim"``; with ``"auto"`` the environment variable
        ``ASCEND_INFER_DEVICE`` is asked first. A named device is never replaced by another; without a number,
        ``instance_group`` may put instances on several.
    instances : int, optional
        Executions at the same time, in all; otherwise ``instance_group`` says, which also names the devices.
    threads : int, optional
        Threads per execution on the CPU; by default the CPUs this process may use divided by ``instances``.
    max_batch_size : int, optional
        In place of the configuration's.
    providers : sequence, optional
        onnxruntime execution providers, ``"Name"`` or ``("Name", {option: value})``.
    graph_optimization : {"all", "extended", "basic", "off"}, optional
        Of onnxruntime; otherwise the configuration's ``optimization.graph.level``.
    cast : {"no", "safe", "same_kind", "unsafe"}
        Which conversions of an input's data type are done without asking, in numpy's words.
    allow_paths : sequence of path-like
        Folders outside the model directory that the configuration may refer to.
    slots : int, optional
        On an NPU: batches of each instance in flight, one copied in while another computes; 2 where left out.
    pool_bytes, pinned_pool_bytes : int, optional
        On an NPU: what the pool of the device's memory, and that of pinned host memory, take at once; all models of a
        device share them. Left out, they grow by what is needed; the configuration's parameter ``memory_pool_bytes``
        states the first.
    memory_pool : MemoryPool, optional
        The pool of the device, made before, in place of sizes; of several devices a list with the pool of each.
    batching : Batching or bool, optional
        Whether and how requests of several callers run together. Left out: as the configuration's
        ``dynamic_batching`` says. False: each by itself. True: the configuration's, or Triton's defaults.

    Raises
    ------
    ModelNotFoundError
        Nothing there, or no such version.
    ConfigError
        config.pbtxt is wrong; every finding with line and column is in it.
    ModelLoadError
        The model file is damaged, or does not fit the configuration.
    DeviceNotFoundError, InvalidOptionError, MissingDependencyError

    Notes
    -----
    Thread safety: all methods, from any number of threads. A forked child gets ``ForkError``. One of plain options
    can be pickled: a worker process opens it again by its path, once for all copies. It cannot be copied.

    Lifetime: ``close()`` or ``with``. A session dropped without either is closed with an
    ``UnclosedResourceWarning``. Results stay valid afterwards.

    Examples
    --------
    >>> import ascend_infer as ai
    >>> with ai.Session("model_repository/efficientnet_lite0") as session:  # doctest: +SKIP
    ...     result = session.infer({"images": images})
    ...     result["logits"].shape
    (1, 1000)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        version: int | str | None = None,
        device: str = "auto",
        instances: int | None = None,
        threads: int | None = None,
        max_batch_size: int | None = None,
        providers: Sequence[Any] | None = None,
        graph_optimization: str | None = None,
        cast: Casting = "no",
        allow_paths: Sequence[str | os.PathLike[str]] = (),
        slots: int | None = None,
        pool_bytes: int | None = None,
        pinned_pool_bytes: int | None = None,
        memory_pool: MemoryPool | Sequence[MemoryPool] | None = None,
        batching: Batching | bool | None = None,
    ) -> None:
        options = SessionOptions.checked(
            path=path,
            version=version,
            device=device,
            instances=instances,
            threads=threads,
            max_batch_size=max_batch_size,
            providers=providers,
            graph_optimization=graph_optimization,
            cast=cast,
            allow_paths=allow_paths,
            slots=slots,
            pool_bytes=pool_bytes,
            pinned_pool_bytes=pinned_pool_bytes,
            memory_pool=memory_pool,
            batching=batching,
        )
        self._prepare(options)
        self._open()

    def _prepare(self, options: SessionOptions) -> None:
        self._state = "unopened"
        self._core: Loaded | None = None
        self._lock = threading.Lock()
        self._options = options
        self._cast = options.cast

    @property
    def name(self) -> str:
        """The model's name."""
        return self._opened().origin.model

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What the model takes, batch included."""
        return self._opened().requests.signature.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What the model gives, batch included."""
        return self._opened().requests.signature.outputs

    @property
    def config(self) -> ModelConfig:
        """The configuration as it is in force: normalised and completed from the model file."""
        return self._opened().config

    @property
    def device(self) -> str:
        """Where the model runs: ``"cpu"``, ``"npu:0"``; ``"npu:0,npu:1"`` for instances on several."""
        return self._opened().origin.device

    @property
    def version(self) -> int | None:
        """The version that is loaded; None for a bare model file."""
        return self._opened().origin.version

    @property
    def path(self) -> str:
        """The path that was given, absolute."""
        return self._options.path

    @property
    def details(self) -> Mapping[str, str]:
        """How it runs: runtime and version, providers, threads, why this device."""
        return self._opened().details

    @property
    def instances(self) -> tuple[ModelInstance, ...]:
        """The copies of the model as they are now, those of the first device first, those out of service included."""
        return tuple(item.seen() for item in self._opened().scheduler.instances)

    @property
    def memory_pool(self) -> MemoryPool | None:
        """The pool of the device's memory, of the first of several, shared by its models; None on the CPU."""
        return next(iter(self.memory_pools.values()), None)

    @property
    def memory_pools(self) -> Mapping[str, MemoryPool]:
        """The pool of each device that the model's instances are on, by the device's name; empty on the CPU."""
        return pools_of(self._opened().model)

    def changed_files(self) -> dict[str, str]:
        """Return the model's files that are not what they were when it was loaded: by path, what is different.

        Files that were added do not count. Looks at sizes, times of change and inodes only.
        """
        return dict(self._opened().files.changes())

    def explain(self, **shapes: Sequence[int]) -> GearExplanation:
        """Tell which compiled size a request of these shapes would run in, and what that costs.

        Parameters
        ----------
        **shapes : sequence of int
            By input name, batch included: ``session.explain(images=(5, 3, 224, 224))``.

        Raises
        ------
        InvalidInputError
            A name is no input, one is missing, what is given is no shape, or the model runs on the CPU, which has no
            gears.
        """
        from ascend_infer.explain import explain_request

        return explain_request(self._opened(), shapes)

    @property
    def closed(self) -> bool:
        """Whether ``close()`` has been called."""
        return self._state == "closed"

    def statistics(self) -> dict[str, Any]:
        """Return what was counted since the model was loaded, in the form of Triton's statistics endpoint.

        Durations are nanoseconds in all; ``batch_stats`` has an entry for each size that a batch had. Warm-up is not
        in it.
        """
        return self._opened().accounts.statistics()

    def stats(self) -> SessionStats:
        """Return rates, percentiles, the mean batch and where the time went, since the load and since the last call.

        Where requests wait longer than they run, it says what would help.
        """
        return self._opened().accounts.stats()

    def close(self, timeout: float = 5.0, *, cancel_pending: bool = False) -> None:
        """Give everything back. Idempotent.

        New requests get ``ClosedError``. Those that run finish and keep their results, and so do those that wait.

        Parameters
        ----------
        timeout : float
            Seconds to wait for them; then those that wait fail with ``ClosedError``, those that run are told to stop.
            What a device goes on with after that is waited for by a thread, which gives its memory back.
        cancel_pending : bool
            End those that wait at once.

        Raises
        ------
        AclError
            A call of the runtime failed, as on a device that was lost meanwhile; the session is closed all the same.
            At the end of a ``with`` block that an exception ends, it is logged instead.
        """
        seconds = checked_timeout(timeout)
        with self._lock:
            core, self._core = self._core, None
            if self._state != "forked":
                self._state = "closed"
        if core is not None:
            self._finalizer.detach()
            until = time.monotonic() + seconds
            try:
                core.scheduler.close(seconds, cancel_pending)
                close_model(core, max(0.0, until - time.monotonic()))
            finally:
                core.accounts.close()

    def __enter__(self) -> Session:
        self._opened()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except AscendInferError as failure:
            if error is None:
                raise
            logger.error("%r: closed after an error, and that failed too: %s", self, failure)

    def __repr__(self) -> str:
        core = self._core
        if core is None:
            return f"<Session {self._options.path} ({self._state})>"
        version = "" if core.origin.version is None else f" version {core.origin.version}"
        inputs = ", ".join(map(str, core.requests.signature.inputs))
        outputs = ", ".join(map(str, core.requests.signature.outputs))
        return f"<Session {core.origin.model}{version} on {core.origin.device}: {inputs} -> {outputs}>"

    def _repr_html_(self) -> str:
        from ascend_infer.html import session_html
        from ascend_infer.notebook import keep_weakly

        keep_weakly(self)
        return session_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._state == "closed":
            raise ClosedError(f"session {self._options.path} is closed and cannot be pickled")
        self._options.refuse_live_objects()
        return pickled(_reopen, self._options)

    def __copy__(self) -> Session:
        raise CopyError(
            f"a Session is a loaded model and cannot be copied; share {self._options.path}'s session between "
            "threads, or open a second one"
        )

    def __deepcopy__(self, memo: object) -> Session:
        return self.__copy__()

    def _opened(self) -> Loaded:
        return self._core or self._open()

    def _open(self) -> Loaded:
        """Load the model if that is still to be done; raises when it is too late for it."""
        with self._lock:
            if self._core is not None:
                return self._core
            if self._state == "closed":
                raise ClosedError(f"session {self._options.path} is closed; open a new one")
            if self._state == "forked":
                raise ForkError(
                    f"session {self._options.path} was opened before this process was forked, and a model's "
                    "threads and device do not survive that. Open the session in the child, or start children "
                    'with multiprocessing.get_context("spawn") (a Session can be pickled)'
                )
            # The configuration and the runtimes come in with the first model, not with the import.
            from ascend_infer.device import choose_device
            from ascend_infer.loading import load

            core = load(self._options, choose_device(self._options.device))
            self._finalizer = weakref.finalize(self, reap, core)
            self._finalizer.atexit = False  # the workers' own exit hook ends what is left then
            self._core = core
            self._state = "open"
            track(self)
            return core

    def forked(self) -> None:
        """Become unusable: this is a forked child. Called by itself."""
        if self._core is not None:
            self._finalizer.detach()
            inherited.append(self._core)
            self._core = None
            self._state = "forked"
        # Another thread of the parent may have held it.
        self._lock = threading.Lock()


def _reopen(options: SessionOptions) -> Session:
    session = Session.__new__(Session)
    session._prepare(options)
    return session
