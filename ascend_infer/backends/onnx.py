"""ONNX models by onnxruntime on the CPU.

A model whose tensors are plain numbers runs through onnxruntime's own library (``onnx_native``). One with text, with
execution providers, or where either library is not there, runs through its Python module (``onnx_executable``).
Either way it is in memory once: instances share the session, which many threads may run at the same time.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_infer import onnx_file
from ascend_infer.backends import onnx_options
from ascend_infer.backends.base import Executable, LoadedModel, LoadRequest
from ascend_infer.backends.onnx_library import find_library
from ascend_infer.backends.onnx_message import plain_text
from ascend_infer.backends.onnx_native import NativeExecutable, library_version, open_native, output_shapes
from ascend_infer.errors import LibraryError, ModelFileError, ModelLoadError
from ascend_infer.onnx_file.reader import open_onnx
from ascend_infer.onnx_file.runnable import why_not_runnable
from ascend_infer.types import DataType, ModelSpec, TensorSpec

if TYPE_CHECKING:
    from ascend_infer._native import OrtSession

__all__ = ["Backend", "OnnxModel"]

logger = logging.getLogger("ascend_infer")

#: A copy of a larger model in memory would not fit protobuf's own limit.
_RELAX_LIMIT = 2**31

#: An OrtErrorCode.
_INVALID_PROTOBUF = 7

Shape = tuple[int | str | None, ...]


class Backend:
    """Loads .onnx files into onnxruntime."""

    def load(self, request: LoadRequest) -> OnnxModel:
        """Load a model; see ``backends.base.Backend.load``."""
        library = find_library()
        described = onnx_file.read(request.path)
        spec = described.spec
        _refuse_unusable(request, described)
        source: bytes | Path = request.path
        if request.options.relaxed:
            source, spec = _relaxed(request, described)
        settings = onnx_options.settings(request.model, request.options)
        if library is not None and _runs_natively(request, spec):
            try:
                session = open_native(library, source, settings)
            except LibraryError as error:
                logger.info("model %r runs through onnxruntime's Python module: %s", request.model, error)
            except Exception as error:
                raise _load_error(request, error, described, library_version(library)) from error
            else:
                return _native_model(request, session, spec, described, settings)
        return _python_model(request, source, spec, described, settings)


class OnnxModel(LoadedModel):
    """One .onnx file in memory; see ``backends.base.LoadedModel``."""

    def __init__(
        self, spec: ModelSpec, details: Mapping[str, str], executables: Sequence[Executable]
    ) -> None:
        self._spec = spec
        self._details = details
        self._executables = executables

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
        """Runtime, interface, providers and threads."""
        return self._details

    def executables(self) -> Sequence[Executable]:
        """Return the executables, one per instance."""
        return self._executables

    def close(self) -> None:
        """Drop the session; a run under way holds its own reference."""
        self._executables = ()


def _runs_natively(request: LoadRequest, spec: ModelSpec) -> bool:
    text = any(tensor.dtype is DataType.BYTES for tensor in (*spec.inputs, *spec.outputs))
    return not text and onnx_options.only_cpu(request.options)


def _native_model(
    request: LoadRequest,
    session: OrtSession,
    spec: ModelSpec,
    described: onnx_file.OnnxFile,
    settings: onnx_options.OnnxSettings,
) -> OnnxModel:
    inferred = {name: shape for name, _, shape, _ in session.outputs}
    spec = _with_inferred_outputs(spec, inferred)
    names = [item[0] for item in session.inputs], [item[0] for item in session.outputs]
    session.expect(
        output_shapes(spec, *names, request.options.batched),
        timed_by_shapes=onnx_file.timed_by_shapes(request.path, described),
    )
    details = {
        "runtime": f"onnxruntime {session.version}",
        "interface": "C",
        "providers": "CPUExecutionProvider",
        "threads": str(settings.intra_threads),
    }
    executables = [NativeExecutable(request.model, session) for _ in range(request.options.instances)]
    return OnnxModel(spec, details, tuple(executables))


def _python_model(
    request: LoadRequest,
    source: bytes | Path,
    spec: ModelSpec,
    described: onnx_file.OnnxFile,
    settings: onnx_options.OnnxSettings,
) -> OnnxModel:
    from ascend_infer.backends.onnx_executable import OnnxExecutable
    from ascend_infer.backends.onnx_runtime import ort

    if isinstance(source, Path):
        # onnxruntime's module takes paths as UTF-8; a name that is none is read here.
        named = os.fsencode(source).decode("utf-8", "replace") == str(source)
        source = source if named else source.read_bytes()
    options = onnx_options.session_options(settings)
    wanted = onnx_options.providers(request.model, request.options)
    try:
        session = ort.InferenceSession(
            source if isinstance(source, bytes) else str(source), sess_options=options, providers=wanted
        )
    except Exception as error:
        raise _load_error(request, error, described, ort.__version__) from error
    session.disable_fallback()
    spec = _with_inferred_outputs(spec, {value.name: tuple(value.shape) for value in session.get_outputs()})
    details = {
        "runtime": f"onnxruntime {ort.__version__}",
        "interface": "Python",
        "providers": ", ".join(session.get_providers()),
        "threads": str(session.get_session_options().intra_op_num_threads),
    }
    executables = [
        OnnxExecutable(request.model, session, spec, settings.run_entries)
        for _ in range(request.options.instances)
    ]
    return OnnxModel(spec, details, tuple(executables))


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


def _with_inferred_outputs(spec: ModelSpec, inferred: Mapping[str, Shape]) -> ModelSpec:
    """Fill in ranks that the file leaves open and onnxruntime inferred."""

    def known(tensor: TensorSpec) -> TensorSpec:
        shape = inferred.get(tensor.name)
        if tensor.shape != (-2,) or not shape:
            return tensor
        sizes = tuple(size if isinstance(size, int) and size > 0 else -1 for size in shape)
        return TensorSpec(tensor.name, tensor.dtype, sizes)

    return replace(spec, outputs=tuple(known(t) for t in spec.outputs))


def _load_error(
    request: LoadRequest, error: Exception, described: onnx_file.OnnxFile, version: str
) -> ModelLoadError:
    text = plain_text(error)
    path = str(request.path)
    unparsed = getattr(error, "code", 0) == _INVALID_PROTOBUF
    opset = described.opsets.get("", 0)
    if "opset" in text.lower() or "ir_version" in text.lower() or "IR version" in text:
        text += f" (the file is IR {described.ir_version}, opset {opset}; a newer onnxruntime may read it)"
    if "Protobuf parsing failed" in text or "INVALID_PROTOBUF" in str(error) or unparsed:
        return ModelFileError(
            f"{path}: the file is damaged or no ONNX model: {text}", path=path, reason=text, offset=None
        )
    return ModelLoadError(f"{path}: onnxruntime {version} refuses it: {text}", path=path)
