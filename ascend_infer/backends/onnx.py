"""ONNX models by onnxruntime on the CPU.

Instances share one ``InferenceSession`` (its ``run`` may be called from many threads, and weights are in
memory once). One thread per executable at a time; the GIL is released while the model computes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ascend_infer import onnx_file
from ascend_infer.backends import onnx_options, onnx_values
from ascend_infer.backends.base import Array, Cancellation, LoadRequest
from ascend_infer.backends.onnx_runtime import ort
from ascend_infer.errors import (
    AscendInferError,
    ModelExecutionError,
    ModelFileError,
    ModelLoadError,
    RequestCancelledError,
)
from ascend_infer.onnx_file.reader import open_onnx
from ascend_infer.onnx_file.runnable import why_not_runnable
from ascend_infer.output_array import fill_out
from ascend_infer.types import DataType, ModelSpec, TensorSpec

__all__ = ["Backend", "OnnxExecutable", "OnnxModel"]

#: A copy of a larger model in memory would not fit protobuf's own limit.
_RELAX_LIMIT = 2**31


class Backend:
    """Loads .onnx files into onnxruntime."""

    def load(self, request: LoadRequest) -> OnnxModel:
        """Load a model; see ``backends.base.Backend.load``."""
        described = onnx_file.read(request.path)
        spec = described.spec
        _refuse_unusable(request, described)
        # onnxruntime takes paths as UTF-8; a name that is none is read here.
        named = os.fsencode(request.path).decode("utf-8", "replace") == str(request.path)
        source: str | bytes = str(request.path) if named else request.path.read_bytes()
        if request.options.relaxed:
            source, spec = _relaxed(request, described)
        options = onnx_options.session_options(request.options)
        wanted = onnx_options.providers(request.options)
        try:
            session = ort.InferenceSession(source, sess_options=options, providers=wanted)
        except Exception as error:
            raise _load_error(request, error, described) from error
        session.disable_fallback()
        return OnnxModel(request, session, _with_inferred_outputs(spec, session))


class OnnxModel:
    """One .onnx file in memory; see ``backends.base.LoadedModel``."""

    def __init__(self, request: LoadRequest, session: Any, spec: ModelSpec) -> None:
        self._spec = spec
        self._details = {
            "runtime": f"onnxruntime {ort.__version__}",
            "providers": ", ".join(session.get_providers()),
            "threads": str(session.get_session_options().intra_op_num_threads),
        }
        self._executables: tuple[OnnxExecutable, ...] = tuple(
            OnnxExecutable(request.model, session, spec, onnx_options.run_config(request.options))
            for _ in range(request.options.instances)
        )

    @property
    def spec(self) -> ModelSpec:
        """The signature."""
        return self._spec

    @property
    def device(self) -> str:
        """Always ``"cpu"``."""
        return "cpu"

    @property
    def details(self) -> Mapping[str, str]:
        """Runtime, providers and threads."""
        return self._details

    def executables(self) -> Sequence[OnnxExecutable]:
        """Return the executables, one per instance."""
        return self._executables

    def close(self) -> None:
        """Drop the session; a run under way holds its own reference."""
        self._executables = ()


class OnnxExecutable:
    """Runs one batch at a time; see ``backends.base.Executable``."""

    __slots__ = (
        "_binding",
        "_dtypes",
        "_model",
        "_narrow",
        "_plain",
        "_run",
        "_run_config",
        "_session",
        "_shapes",
        "_text",
    )

    def __init__(self, model: str, session: Any, spec: ModelSpec, run_config: Mapping[str, str]) -> None:
        self._model = model
        self._session = session
        self._run = session.run
        self._run_config = dict(run_config)
        self._dtypes = {tensor.name: tensor.dtype for tensor in (*spec.inputs, *spec.outputs)}
        self._shapes = {tensor.name: tensor.shape for tensor in spec.outputs}
        # numpy arrays in and out, no bits to reinterpret: the path of nearly every model.
        self._text = DataType.BYTES in self._dtypes.values()
        self._narrow = not onnx_values.NARROW.keys().isdisjoint(self._dtypes.values())
        self._plain = not run_config and not self._text and not self._narrow
        self._binding: Any = None

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

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[Array]:
        """Run one batch; see ``backends.base.Executable.execute``."""
        try:
            if self._plain and out is None and cancellation is None:
                result: list[Array] = self._run(outputs, inputs)
                return result
            return self._execute(inputs, outputs, out or {}, cancellation)
        except AscendInferError:
            raise
        except Exception as error:
            if cancellation is not None and cancellation.requested:
                raise RequestCancelledError(f"model {self._model!r}: stopped while it ran") from None
            raise ModelExecutionError(
                f"model {self._model!r} failed: {_plain_text(error)}", model=self._model
            ) from error

    def _execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array],
        cancellation: Cancellation | None,
    ) -> list[Array]:
        options = ort.RunOptions()
        options.log_severity_level = 4
        for key, value in self._run_config.items():
            options.add_run_config_entry(key, value)
        if cancellation is not None:
            cancellation.arm(lambda: setattr(options, "terminate", True))
        try:
            # A binding cannot hold text.
            if not self._text and (out or self._narrow):
                return self._run_bound(inputs, outputs, out, options)
            results: list[Array] = self._run(outputs, inputs, options)
            named = [
                onnx_values.encode_strings(array) if self._dtypes[name] is DataType.BYTES else array
                for name, array in zip(outputs, results, strict=True)
            ]
            return fill_out(outputs, named, out)
        finally:
            if cancellation is not None:
                cancellation.disarm()

    def _run_bound(
        self, inputs: Mapping[str, Array], outputs: Sequence[str], out: Mapping[str, Array], options: Any
    ) -> list[Array]:
        binding = self._binding
        if binding is None:
            binding = self._binding = self._session.io_binding()
        # Bound values borrow the arrays' memory: the values live in this list until the run is over.
        values = {name: onnx_values.to_value(array, self._dtypes[name]) for name, array in inputs.items()}
        try:
            for name, value in values.items():
                binding.bind_ortvalue_input(name, value)
            written = {name for name, array in out.items() if self._writes_in_place(name, array)}
            for name in outputs:
                if name in written:
                    target = out[name]
                    code = self._dtypes[name].onnx
                    binding.bind_output(name, "cpu", 0, code, target.shape, target.ctypes.data)
                else:
                    binding.bind_output(name, "cpu")
            self._session.run_with_iobinding(binding, options)
            results = [
                out[name] if name in written else onnx_values.from_value(value, self._dtypes[name])
                for name, value in zip(outputs, binding.get_outputs(), strict=True)
            ]
            return fill_out(outputs, results, out)
        finally:
            binding.clear_binding_inputs()
            binding.clear_binding_outputs()

    def _writes_in_place(self, name: str, array: Array) -> bool:
        """Whether the output's shape is known beforehand, the batch aside, so that it can be bound."""
        shape = self._shapes[name]
        return len(shape) == array.ndim and -1 not in shape[1:] and -2 not in shape and array.size > 0


def _refuse_unusable(request: LoadRequest, described: onnx_file.OnnxFile) -> None:
    reason = why_not_runnable(described, request.path.parent)
    if reason is not None:
        raise ModelLoadError(f"{request.path}: {reason}", path=str(request.path))
    for tensor in (*described.spec.inputs, *described.spec.outputs):
        _ = tensor.dtype.numpy  # names the missing package now, not in the first request


def _relaxed(request: LoadRequest, described: onnx_file.OnnxFile) -> tuple[bytes, ModelSpec]:
    if described.external_data or described.size >= _RELAX_LIMIT:
        raise ModelLoadError(
            f"{request.path}: the configuration calls dims of {sorted(request.options.relaxed)} variable "
            "that the file declares fixed; a model with external data or above 2 GiB cannot be changed on the "
            "way: export it with dynamic axes",
            path=str(request.path),
        )
    with open_onnx(request.path) as data:
        copy = onnx_file.relax_declared_shapes(data, request.options.relaxed)

    def opened(tensor: TensorSpec) -> TensorSpec:
        return TensorSpec(tensor.name, tensor.dtype, (-1,) * len(tensor.shape), (), tensor.optional)

    spec = described.spec
    inputs = tuple(opened(t) if t.name in request.options.relaxed else t for t in spec.inputs)
    return copy, replace(spec, inputs=inputs, outputs=tuple(opened(t) for t in spec.outputs))


def _with_inferred_outputs(spec: ModelSpec, session: Any) -> ModelSpec:
    """Fill in ranks that the file leaves open and onnxruntime inferred."""
    inferred = {value.name: value.shape for value in session.get_outputs()}

    def known(tensor: TensorSpec) -> TensorSpec:
        shape = inferred.get(tensor.name)
        if tensor.shape != (-2,) or not shape:
            return tensor
        sizes = tuple(size if isinstance(size, int) and size > 0 else -1 for size in shape)
        return TensorSpec(tensor.name, tensor.dtype, sizes)

    return replace(spec, outputs=tuple(known(t) for t in spec.outputs))


_PREFIX = re.compile(r"^\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : ")
_SOURCE = re.compile(r"\s*(?:/\S+?/)?onnxruntime(?:_src)?/\S+?\.(?:cc|h):\d+\s+\S[^\n]*?\)\s*(?:const\s*)?")


def _plain_text(error: Exception) -> str:
    """Return onnxruntime's message without its code and C++ source lines."""
    return _SOURCE.sub(" ", _PREFIX.sub("", str(error))).strip() or type(error).__name__


def _load_error(request: LoadRequest, error: Exception, described: onnx_file.OnnxFile) -> ModelLoadError:
    text = _plain_text(error)
    path = str(request.path)
    opset = described.opsets.get("", 0)
    if "opset" in text.lower() or "ir_version" in text.lower() or "IR version" in text:
        text += f" (the file is IR {described.ir_version}, opset {opset}; a newer onnxruntime may read it)"
    if "Protobuf parsing failed" in text or "INVALID_PROTOBUF" in str(error):
        return ModelFileError(
            f"{path}: the file is damaged or no ONNX model: {text}", path=path, reason=text, offset=None
        )
    return ModelLoadError(f"{path}: onnxruntime {ort.__version__} refuses it: {text}", path=path)
