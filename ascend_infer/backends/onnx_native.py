"""Running an ONNX model through onnxruntime's own library: arrays in and out, without its Python module.

One ``OrtSession`` of the extension serves all executables of a model; any number of threads may run it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_infer.backends.base import Array, Cancellation
from ascend_infer.backends.onnx_failure import run_failure
from ascend_infer.backends.onnx_options import OnnxSettings
from ascend_infer.errors import AscendInferError, ModelExecutionError, RequestCancelledError
from ascend_infer.output_array import fill_out
from ascend_infer.types import ModelSpec, TensorSpec

if TYPE_CHECKING:
    from ascend_infer._native import OrtSession

__all__ = ["NativeExecutable", "library_version", "open_native", "output_shapes"]

#: A dimension known beforehand: its size, or the input and axis that has it.
Dim = int | tuple[int, int]

#: What exporters write where they have no name for a dimension.
_NAMELESS = (None, "", "?")


def open_native(library: Path, source: bytes | Path, settings: OnnxSettings) -> OrtSession:
    """Load a model into onnxruntime's library.

    Raises
    ------
    OrtError
        onnxruntime refuses it; of ``ascend_infer._native``.
    LibraryError
        The library cannot be opened.
    """
    from ascend_infer._native import open_ort_session

    return open_ort_session(
        library,
        source,
        intra_threads=settings.intra_threads,
        inter_threads=settings.inter_threads,
        parallel=settings.parallel,
        graph_level=settings.graph_level,
        mem_arena=settings.mem_arena,
        mem_pattern=settings.mem_pattern,
        session_entries=tuple(settings.session_entries.items()),
        run_entries=tuple(settings.run_entries.items()),
    )


def library_version(library: Path) -> str:
    """Return the version that a library, opened before, states."""
    from ascend_infer._native import ort_version

    return ort_version(library)


def output_shapes(
    spec: ModelSpec, inputs: Sequence[str], outputs: Sequence[str], batched: bool | None
) -> list[tuple[Dim, ...] | None]:
    """Say which outputs' shapes follow from the inputs', so that they can be written where they are wanted.

    Parameters
    ----------
    spec : ModelSpec
    inputs, outputs : sequence of str
        Names, in the session's order.
    batched : bool or None
        The first axis counts independent rows.

    Returns
    -------
    list
        Per output its dims, each a size or (input, axis); None where the shape is known only after a run. A model
        that does not keep to it is found out by the session.
    """
    named: dict[str | None, tuple[int, int]] = {}
    known_inputs = [tensor for tensor in spec.inputs if tensor.name in inputs]
    for tensor in known_inputs:
        for axis, name in enumerate(tensor.dim_names):
            if tensor.shape[axis : axis + 1] == (-1,) and name not in _NAMELESS:
                named.setdefault(name, (list(inputs).index(tensor.name), axis))
    rows: Dim | None = None
    if batched and known_inputs and all(tensor.shape[:1] == (-1,) for tensor in known_inputs):
        rows = (list(inputs).index(known_inputs[0].name), 0)
    tensors = {tensor.name: tensor for tensor in spec.outputs}
    return [_dims(tensors[name], named, rows) if name in tensors else None for name in outputs]


def _dims(
    tensor: TensorSpec, named: Mapping[str | None, tuple[int, int]], rows: Dim | None
) -> tuple[Dim, ...] | None:
    if -2 in tensor.shape:
        return None
    names = tensor.dim_names or (None,) * len(tensor.shape)
    dims: list[Dim] = []
    for axis, (size, name) in enumerate(zip(tensor.shape, names, strict=True)):
        if size >= 0:
            dims.append(size)
        elif name in named:
            dims.append(named[name])
        elif axis == 0 and rows is not None:
            dims.append(rows)
        else:
            return None
    return tuple(dims)


#: Choices of outputs that are kept as indices.
_MOST_REMEMBERED = 256


class NativeExecutable:
    """Runs one batch at a time; see ``backends.base.ManyExecutable``."""

    __slots__ = ("_count", "_indices", "_model", "_names", "_optional", "_positions", "_run", "_session")

    def __init__(self, model: str, session: OrtSession) -> None:
        self._model = model
        self._session = session
        self._run = session.run
        self._names = [name for name, _, _, optional in session.inputs if not optional]
        self._optional = [name for name, _, _, optional in session.inputs if optional]
        self._count = len(self._names)
        self._positions = {item[0]: index for index, item in enumerate(session.outputs)}
        # By the tuple of wanted names: a request names the same ones again and again.
        self._indices: dict[tuple[str, ...], tuple[int, ...]] = {}

    @property
    def device(self) -> str:
        """Always ``"cpu"``."""
        return "cpu"

    @property
    def slots(self) -> int:
        """One batch at a time."""
        return 1

    @property
    def interruptible(self) -> bool:
        """A run ends when it ends, or from another thread."""
        return False

    @property
    def gathers(self) -> bool:
        """onnxruntime takes one array."""
        return False

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[Array]:
        """Run one batch; see ``backends.base.Executable.execute``."""
        try:
            indices = self._indices.get(outputs) if type(outputs) is tuple else None
            if indices is None:
                indices = self._wanted(tuple(outputs))
            arrays = (
                list(map(inputs.get, self._names)) if len(inputs) == self._count else self._all_arrays(inputs)
            )
            if out is None and cancellation is None:
                return self._run(arrays, indices)
            return self._execute(arrays, indices, outputs, out or {}, cancellation)
        except AscendInferError:
            raise
        except Exception as error:
            raise self._failure(error, cancellation) from None

    def execute_many(
        self,
        requests: Sequence[Mapping[str, Array]],
        outputs: Sequence[str],
        cancellation: Cancellation | None = None,
    ) -> list[list[Array] | AscendInferError]:
        """Run several requests one after another; see ``backends.base.ManyExecutable.execute_many``."""
        indices = self._wanted(tuple(outputs))
        answers: list[list[Array] | AscendInferError] = [[]] * len(requests)
        places, fed = [], []
        for place, inputs in enumerate(requests):
            try:
                fed.append(self._all_arrays(inputs))
                places.append(place)
            except AscendInferError as error:
                answers[place] = error
        if cancellation is None:
            ran = self._session.run_many(fed, indices)
        else:
            stop = self._session.new_stop()
            cancellation.arm(stop.terminate)
            try:
                ran = self._session.run_many(fed, indices, stop)
            finally:
                cancellation.disarm()
        for place, answer in zip(places, ran, strict=True):
            answers[place] = answer if isinstance(answer, list) else self._failure(answer, cancellation)
        return answers

    def _execute(
        self,
        arrays: list[Array | None],
        indices: tuple[int, ...],
        outputs: Sequence[str],
        out: Mapping[str, Array],
        cancellation: Cancellation | None,
    ) -> list[Array]:
        targets = [out.get(name) for name in outputs] if out else None
        if cancellation is None:
            results = self._run(arrays, indices, targets)
        else:
            stop = self._session.new_stop()
            cancellation.arm(stop.terminate)
            try:
                results = self._run(arrays, indices, targets, stop)
            finally:
                cancellation.disarm()
        return fill_out(outputs, results, out) if out else results

    def _all_arrays(self, inputs: Mapping[str, Array]) -> list[Array | None]:
        """Bring inputs into the session's order, those included that the model has values of its own for."""
        strange = inputs.keys() - {*self._names, *self._optional}
        if strange:
            raise ModelExecutionError(
                f"model {self._model!r} has no input {min(strange)!r}; it has: "
                f"{', '.join([*self._names, *self._optional])}",
                model=self._model,
            )
        return list(map(inputs.get, [*self._names, *self._optional]))

    def _wanted(self, names: tuple[str, ...]) -> tuple[int, ...]:
        unknown = [name for name in names if name not in self._positions]
        if unknown:
            raise ModelExecutionError(
                f"model {self._model!r} has no output {unknown[0]!r}; it has: {', '.join(self._positions)}",
                model=self._model,
            )
        found = tuple([self._positions[name] for name in names])
        if len(self._indices) < _MOST_REMEMBERED:
            self._indices[names] = found
        return found

    def _failure(self, error: Exception, cancellation: Cancellation | None) -> AscendInferError:
        if isinstance(error, AscendInferError):
            return error
        if cancellation is not None and cancellation.requested:
            return RequestCancelledError(f"model {self._model!r}: stopped while it ran")
        return run_failure(self._model, error)
