"""Models in .om files through a module of pyACL's names: small, synchronous, one copy of everything an instance.

A cross-check of the ``acl`` backend and what it is measured against; never chosen but by name. On a card the module is
CANN's own ``acl`` where that can be imported, elsewhere ``ascend_infer.compat.acl``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ascend_infer import om
from ascend_infer.acl_codes import device_fault, exception_for
from ascend_infer.backends.acl import refuse_unusable, spec_of
from ascend_infer.backends.base import Array, Cancellation, DeviceTarget, LoadedModel, LoadRequest
from ascend_infer.errors import (
    ClosedError,
    InvalidInputError,
    ModelExecutionError,
    ModelLoadError,
    RequestCancelledError,
)
from ascend_infer.gears import GearChooser, GearLaunch, sizes_of_om
from ascend_infer.gears.padding import run_choice
from ascend_infer.om import OmModel
from ascend_infer.output_array import fill_out
from ascend_infer.types import ModelSpec

__all__ = ["Backend", "PyAclModel"]

_HUGE_FIRST = 0
_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2
_REPEATED_INIT = 100002
_MODEL_FAILED = 507011
_FORMAT_ND = 2


class Backend:
    """Loads .om files with pyACL's calls."""

    def load(self, request: LoadRequest) -> PyAclModel:
        """Load a model; see ``backends.base.Backend.load``.

        Raises
        ------
        ModelFileError, ModelLoadError
            The file is no model for this runtime.
        AclError, LibraryError
            The runtime or the device failed.
        """
        if request.device.kind == "cpu":
            raise ModelLoadError(
                f"{request.path}: .om files run on an NPU or on the simulator, not on device 'cpu'",
                path=str(request.path),
            )
        file = om.read(request.path)
        refuse_unusable(request, file)
        return PyAclModel(request, file, module_for(request.device))


def module_for(target: DeviceTarget) -> Any:
    """Return CANN's ``acl`` for a card, else our module of its names over the target's library."""
    if target.kind == "npu" and find_spec("acl") is not None:
        return import_module("acl")
    # By name: other libraries' faces stand above backends, this one is a library to them.
    return import_module("ascend_infer.compat.acl.face").face_of(target.libraries)


def checked(acl: Any, code: int, function: str) -> None:
    """Raise what a code stands for, unless it is 0."""
    if code != 0:
        raise exception_for(code, function, detail=acl.get_recent_err_msg() or "")


class PyAclModel(LoadedModel):
    """One .om file, loaded once for each instance; see ``backends.base.LoadedModel``."""

    def __init__(self, request: LoadRequest, file: OmModel, acl: Any) -> None:
        sizes = sizes_of_om(file, batched=request.options.batched)
        chooser = GearChooser(sizes, request.options.parameters)
        self._spec = spec_of(file)
        self._device = str(request.device)
        self._details = {"runtime": f"{acl.__name__} (pyACL)", "shapes": sizes.kind}
        with ExitStack() as undo:
            code = acl.init()
            checked(acl, 0 if code == _REPEATED_INIT else code, "aclInit")
            # Older ones cannot take back one init alone: what others rely on by now stays.
            if hasattr(acl, "finalize_reference"):
                undo.callback(acl.finalize_reference)
            caller, none = acl.rt.get_context()
            checked(acl, acl.rt.set_device(request.device.index), "aclrtSetDevice")
            undo.callback(acl.rt.reset_device, request.device.index)
            try:
                context, code = acl.rt.get_context()
                checked(acl, code, "aclrtGetCurrentContext")
                executables = []
                for _ in range(request.options.instances):
                    executables.append(PyAclExecutable(request, file, acl, context, chooser))
                    undo.callback(executables[-1].close)
            finally:
                if none == 0:
                    acl.rt.set_context(caller)
            self._undo = undo.pop_all()
        self._executables = tuple(executables)

    @property
    def spec(self) -> ModelSpec:
        """The signature; outputs have their ONNX names where the file tells them."""
        return self._spec

    @property
    def device(self) -> str:
        """``"npu:0"`` or ``"sim:0"``."""
        return self._device

    @property
    def details(self) -> Mapping[str, str]:
        """The module that runs it, and how its shapes vary."""
        return self._details

    def executables(self) -> Sequence[PyAclExecutable]:
        """Return one executable per instance."""
        return self._executables

    def close(self) -> None:
        """Give everything back; waits for what runs. Idempotent."""
        self._undo.close()


@dataclass
class _Buffer:
    """Device memory, its data buffer, and what of it a model uses."""

    address: int
    room: int
    handle: int


class PyAclExecutable:
    """Runs one batch at a time, the caller's thread waiting; see ``backends.base.Executable``."""

    slots = 1
    interruptible = False
    gathers = False

    def __init__(
        self, request: LoadRequest, file: OmModel, acl: Any, context: int, chooser: GearChooser
    ) -> None:
        self._model, self._acl, self._context, self._chooser = request.model, acl, context, chooser
        self.device = str(request.device)
        self._lock = threading.Lock()
        self._fed = [place for place, tensor in enumerate(file.inputs) if not tensor.is_hidden]
        self._hidden = next((place for place, tensor in enumerate(file.inputs) if tensor.is_hidden), -1)
        self._inputs = [file.inputs[place].name for place in self._fed]
        self._codes = [file.inputs[place].dtype_code for place in self._fed]
        self._names = {tensor.onnx_name: place for place, tensor in enumerate(file.outputs)}
        self._names.update({tensor.name: place for place, tensor in enumerate(file.outputs)})
        self._dtypes = [tensor.dtype.numpy for tensor in file.outputs if tensor.dtype is not None]
        self._dynamic = file.dynamic == "shape"
        self._undo = ExitStack()
        with ExitStack() as undo:
            self._id, code = acl.mdl.load_from_file(str(request.path))
            self._check(code, "aclmdlLoadFromFile")
            undo.callback(acl.mdl.unload, self._id)
            self._desc = acl.mdl.create_desc()
            undo.callback(acl.mdl.destroy_desc, self._desc)
            self._check(acl.mdl.get_desc(self._desc, self._id), "aclmdlGetDesc")
            sizes = [acl.mdl.get_input_size_by_index(self._desc, place) for place in range(len(file.inputs))]
            self._in, self._in_set = self._dataset(sizes, undo)
            sizes = [
                acl.mdl.get_output_size_by_index(self._desc, place) for place in range(len(file.outputs))
            ]
            self._out, self._out_set = self._dataset([0] * len(sizes) if self._dynamic else sizes, undo)
            self._undo = undo.pop_all()

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[Array]:
        """Run one batch; see ``backends.base.Executable.execute``. Nothing ends a batch that runs."""
        if cancellation is not None:
            cancellation.arm(lambda: None)
            cancellation.disarm()
            if cancellation.requested:
                raise RequestCancelledError(f"model {self._model!r}: cancelled before it ran")
        try:
            arrays = [inputs[name] for name in self._inputs]
            places = [self._names[name] for name in outputs]
        except KeyError as error:
            raise InvalidInputError(
                f"model {self._model!r}: {error.args[0]!r} is missing, or is no output",
                input=str(error.args[0]),
            ) from None
        choice = self._chooser.choose([array.shape for array in arrays])
        with self._lock:
            if self._id < 0:
                raise ClosedError(f"model {self._model!r} is closed")
            with self._bound():
                every = run_choice(
                    self._chooser.sizes, choice, arrays, self._launch, rules=self._chooser.rules
                )
        if cancellation is not None and cancellation.requested:
            raise RequestCancelledError(f"model {self._model!r}: cancelled while it ran")
        return fill_out(list(outputs), [every[place] for place in places], out or {})

    def close(self) -> None:
        """Unload; waits for the batch that runs. Idempotent."""
        with self._lock:
            if self._id >= 0:
                with self._bound():
                    self._id = -1
                    self._undo.close()

    @contextmanager
    def _bound(self) -> Iterator[None]:
        """Bind the device's context to this thread, and put the caller's own back."""
        caller, none = self._acl.rt.get_context()
        self._check(self._acl.rt.set_context(self._context), "aclrtSetCurrentContext")
        try:
            yield
        finally:
            if none == 0:
                self._acl.rt.set_context(caller)

    def _launch(self, launch: GearLaunch, arrays: list[Array]) -> list[Array]:
        acl = self._acl
        for place, code, array in zip(self._fed, self._codes, arrays, strict=True):
            if self._dynamic:
                self._describe(place, code, array)
            if array.nbytes:
                self._copy(
                    self._in[place].address, self._in[place].room, array.ctypes.data, array.nbytes, True
                )
        if launch.gear is not None:
            self._set_gear(launch.gear.kind, launch.gear.values)
        code = acl.mdl.execute(self._id, self._in_set, self._out_set)
        try:
            if code != 0:
                error = exception_for(code, "aclmdlExecute", detail=acl.get_recent_err_msg() or "")
                if code != _MODEL_FAILED and (device_fault(code) or str(code)[:3] in ("507", "207")):
                    raise error
                raise ModelExecutionError(
                    f"model {self._model!r} failed: {error}", model=self._model
                ) from error
            return [self._fetch(place, launch.gear is not None) for place in range(len(self._out))]
        finally:
            if self._dynamic:
                self._give_back_outputs()

    def _fetch(self, place: int, geared: bool) -> Array:
        acl = self._acl
        if self._dynamic:
            desc = acl.mdl.get_dataset_tensor_desc(self._out_set, place)
            axes = range(acl.get_tensor_desc_num_dims(desc))
            shape = tuple(acl.get_tensor_desc_dim_v2(desc, axis)[0] for axis in axes)
        else:
            get = acl.mdl.get_cur_output_dims if geared else acl.mdl.get_output_dims
            dims, code = get(self._desc, place)
            self._check(code, "aclmdlGetCurOutputDims" if geared else "aclmdlGetOutputDims")
            shape = tuple(dims["dims"])
        array = np.empty(shape, self._dtypes[place])
        if array.nbytes:
            address = acl.get_data_buffer_addr(self._out[place].handle)
            self._copy(array.ctypes.data, array.nbytes, address, array.nbytes, False)
        return array

    def _describe(self, place: int, dtype: int, array: Array) -> None:
        """Make room for an input of any size, and say what shape it has."""
        acl, buffer = self._acl, self._in[place]
        needed = array.nbytes or 1
        if buffer.room < needed:
            address, code = acl.rt.malloc(needed, _HUGE_FIRST)
            self._check(code, "aclrtMalloc")
            if buffer.address:
                acl.rt.free(buffer.address)
            buffer.address, buffer.room = address, needed
        self._check(acl.update_data_buffer(buffer.handle, buffer.address, needed), "aclUpdateDataBuffer")
        desc = acl.create_tensor_desc(dtype, list(array.shape), _FORMAT_ND)
        _, code = acl.mdl.set_dataset_tensor_desc(self._in_set, desc, place)
        acl.destroy_tensor_desc(desc)  # the dataset has a copy
        self._check(code, "aclmdlSetDatasetTensorDesc")

    def _give_back_outputs(self) -> None:
        """Free what the library allocated for outputs, so that the next run allocates anew."""
        for buffer in self._out:
            address = self._acl.get_data_buffer_addr(buffer.handle)
            if address:
                self._check(self._acl.update_data_buffer(buffer.handle, 0, 0), "aclUpdateDataBuffer")
                self._check(self._acl.rt.free(address), "aclrtFree")

    def _set_gear(self, kind: str, values: tuple[int, ...]) -> None:
        mdl, place = self._acl.mdl, self._hidden
        if kind == "batch":
            code = mdl.set_dynamic_batch_size(self._id, self._in_set, place, values[0])
        elif kind == "hw":
            code = mdl.set_dynamic_hw_size(self._id, self._in_set, place, *values)
        else:
            dims = {"name": "", "dimCount": len(values), "dims": list(values)}
            code = mdl.set_input_dynamic_dims(self._id, self._in_set, place, dims)
        self._check(code, "aclmdlSetDynamic")

    def _copy(self, target: int, room: int, source: int, nbytes: int, to_device: bool) -> None:
        kind = _HOST_TO_DEVICE if to_device else _DEVICE_TO_HOST
        self._check(self._acl.rt.memcpy(target, room, source, nbytes, kind), "aclrtMemcpy")

    def _dataset(self, sizes: Sequence[int], undo: ExitStack) -> tuple[list[_Buffer], int]:
        acl = self._acl
        dataset = acl.mdl.create_dataset()
        buffers: list[_Buffer] = []

        def give_back() -> None:
            acl.mdl.destroy_dataset(dataset)
            for buffer in buffers:
                # After a failure the handle may show other memory, which is ours all the same.
                shown = acl.get_data_buffer_addr(buffer.handle)
                acl.destroy_data_buffer(buffer.handle)
                for address in {buffer.address, shown} - {0}:
                    acl.rt.free(address)

        undo.callback(give_back)
        for size in sizes:
            address, code = acl.rt.malloc(size, _HUGE_FIRST) if size else (0, 0)
            self._check(code, "aclrtMalloc")
            buffers.append(_Buffer(address, size, acl.create_data_buffer(address, size)))
            _, code = acl.mdl.add_dataset_buffer(dataset, buffers[-1].handle)
            self._check(code, "aclmdlAddDatasetBuffer")
        return buffers, dataset

    def _check(self, code: int, function: str) -> None:
        checked(self._acl, code, function)
