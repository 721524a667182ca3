"""Session: one loaded model in the user's hand."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ascend_infer.arrivals import pickled
from ascend_infer.errors import ClosedError, CopyError, ForkError, InvalidInputError
from ascend_infer.input_array import Casting
from ascend_infer.lifetime import inherited, reap, track
from ascend_infer.memory_pool import MemoryPool, pools_of
from ascend_infer.options import SessionOptions, checked_casting, checked_timeout
from ascend_infer.output_array import fill_out
from ascend_infer.result import InferResult
from ascend_infer.scoring.method import ScoringMethod
from ascend_infer.types import TensorSpec

if TYPE_CHECKING:
    from ascend_infer.config import ModelConfig
    from ascend_infer.gears import GearExplanation
    from ascend_infer.loading import Loaded

__all__ = ["Session"]


class Session(ScoringMethod):
    """A model, loaded and ready to run in this process.

    Parameters
    ----------
    path : path-like
        A Triton model directory (``config.pbtxt`` and numbered version folders; the configuration may be
        left out), one version's folder, or a bare ``.onnx`` or ``.om`` file.
    version : int or str, optional
        Which version to load; the highest that the version policy allows where left out.
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
        )
        self._prepare(options)
        self._open()

    def _prepare(self, options: SessionOptions) -> None:
        self._state = "unopened"
        self._core: Loaded | None = None
        self._lock = threading.Lock()
        self._options = options
        self._cast = options.cast

    def infer(
        self,
        inputs: Any = None,
        outputs: Sequence[str] | None = None,
        out: Any = None,
        timeout: float | None = None,
        request_id: str = "",
        *,
        batched: bool = True,
        cast: Casting | None = None,
    ) -> InferResult:
        """Run the model once; blocks until the result is there.

        Parameters
        ----------
        inputs : mapping of str to array-like, or array-like
            Arrays by input name, or a bare array where the model has one input. With ``max_batch_size > 0``
            the first dimension is the batch. Anything with ``__array__``, ``__dlpack__`` or the buffer
            protocol will do; arrays are read during the call only.
        outputs : sequence of str, optional
            Wanted outputs; all of them where left out.
        out : mapping of str to ndarray, or ndarray, optional
            Arrays to write outputs into: C-contiguous, of the output's dtype and shape, not overlapping; a bare
            array where there is one output. The result holds these arrays.
        timeout : float, optional
            Seconds until the result is no longer wanted.
        request_id : str
            Comes back as ``result.request_id``.
        batched : bool
            False: inputs and outputs are one sample each, without the batch dimension.
        cast : {"no", "safe", "same_kind", "unsafe"}, optional
            In place of the session's.

        Returns
        -------
        InferResult
            Arrays by output name, owned by the caller.

        Raises
        ------
        InvalidInputError
            A name, data type or shape does not fit; says which, what was got, what is expected.
        DeadlineExceededError
            ``timeout`` passed. The session stays usable.
        ModelExecutionError
            The model failed on these inputs.
        ClosedError, ForkError

        Notes
        -----
        Ctrl-C ends the call within a fraction of a second also while the model computes, and the session stays
        usable. The GIL is released while the model computes.
        """
        called = time.perf_counter_ns()
        core = self._core
        if core is None:
            core = self._open()
        signature = core.signature
        casting = self._cast if cast is None else checked_casting(cast)
        prepared = signature.prepare({} if inputs is None else inputs, outputs, casting, batched)
        targets = None
        if out is not None:
            out = signature.check_out(out, prepared)
            targets = signature.targets(out, prepared)
        if timeout is not None:
            timeout = checked_timeout(timeout)
        checked = time.perf_counter_ns()
        outcome = core.scheduler.run(prepared.feed, prepared.names, targets, timeout)
        arrays = signature.finish(prepared, outcome.arrays)
        if out:
            arrays = dict(zip(arrays, fill_out(tuple(arrays), tuple(arrays.values()), out), strict=True))
        stamps = (called, checked, outcome.begun, outcome.ended, time.perf_counter_ns())
        return InferResult(arrays, core.origin, stamps, prepared.single, request_id)

    def __call__(self, /, *args: Any, **inputs: Any) -> InferResult:
        """Run the model on inputs given as keywords, or on a bare array: ``session(images=x)``, ``session(x)``."""
        if args and (inputs or len(args) > 1):
            raise InvalidInputError(
                f"model {self.name!r}: give inputs by name, session(name=array, ...), or one bare array; "
                f"got {len(args)} bare and {len(inputs)} named",
                expected="named inputs or one bare array",
                got=f"{len(args)} bare and {len(inputs)} named",
            )
        return self.infer(args[0] if args else inputs)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Any]:
        """Run the model as ``onnxruntime.InferenceSession.run`` does: outputs as a list, in order."""
        result = self.infer(input_feed, list(output_names) if output_names else None)
        return [result[name] for name in (output_names or result)]

    @property
    def name(self) -> str:
        """The model's name."""
        return self._opened().origin.model

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What the model takes, batch included."""
        return self._opened().signature.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What the model gives, batch included."""
        return self._opened().signature.outputs

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
    def memory_pool(self) -> MemoryPool | None:
        """The pool of the device's memory, of the first of several, shared by its models; None on the CPU."""
        return next(iter(self.memory_pools.values()), None)

    @property
    def memory_pools(self) -> Mapping[str, MemoryPool]:
        """The pool of each device that the model's instances are on, by the device's name; empty on the CPU."""
        return pools_of(self._opened().model)

    def explain(self, **shapes: Sequence[int]) -> GearExplanation:
        """Tell which compiled size a request of these shapes would run in, and what that costs.

        Parameters
        ----------
        **shapes : sequence of int
            By input name, batch included: ``session.explain(images=(5, 3, 224, 224))``.

        Raises
        ------
        InvalidInputError
            A name is no input, one is missing, or the model runs on the CPU, which has no gears.
        """
        from ascend_infer.explain import explain_request

        return explain_request(self._opened(), shapes)

    @property
    def closed(self) -> bool:
        """Whether ``close()`` has been called."""
        return self._state == "closed"

    def close(self) -> None:
        """Give everything back. Idempotent.

        Requests that run finish and keep their results; new ones get ``ClosedError``. Waits at most some
        seconds for those on the session's own threads, then tells them to stop.
        """
        with self._lock:
            core, self._core = self._core, None
            if self._state != "forked":
                self._state = "closed"
        if core is not None:
            self._finalizer.detach()
            core.scheduler.close()
            core.model.close()

    def __enter__(self) -> Session:
        self._opened()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        core = self._core
        if core is None:
            return f"<Session {self._options.path} ({self._state})>"
        version = "" if core.origin.version is None else f" version {core.origin.version}"
        inputs = ", ".join(map(str, core.signature.inputs))
        outputs = ", ".join(map(str, core.signature.outputs))
        return f"<Session {core.origin.model}{version} on {core.origin.device}: {inputs} -> {outputs}>"

    def _repr_html_(self) -> str:
        from ascend_infer.html import session_html

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
