"""Running an ONNX model through onnxruntime's Python module: text, providers, and where nothing is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ascend_infer.backends import onnx_values
from ascend_infer.backends.base import Array, Cancellation
from ascend_infer.backends.onnx_failure import run_failure
from ascend_infer.backends.onnx_runtime import ort
from ascend_infer.errors import AscendInferError, RequestCancelledError
from ascend_infer.output_array import fill_out
from ascend_infer.types import DataType, ModelSpec

__all__ = ["OnnxExecutable"]


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
            if self._plain and out is None and cancellation is None:
                result: list[Array] = self._run(outputs, inputs)
                return result
            return self._execute(inputs, outputs, out or {}, cancellation)
        except AscendInferError:
            raise
        except Exception as error:
            if cancellation is not None and cancellation.requested:
                raise RequestCancelledError(f"model {self._model!r}: stopped while it ran") from None
            raise run_failure(self._model, error) from error

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
