"""Models in .om files on an Ascend NPU, or on the simulator: the same code on another library.

An instance is one loaded copy of the model with streams of its own; its slots let the next batch be copied in while
one computes. Weights are on a device once, whoever uses them. The GIL is released while a batch runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_infer import _native, om
from ascend_infer.acl_codes import chip_unfit, model_unfit
from ascend_infer.backends.acl_device import (
    DeviceUse,
    PoolSizes,
    SharedDevice,
    acquire_device,
    at_exit_close,
)
from ascend_infer.backends.acl_executable import AclExecutable
from ascend_infer.backends.acl_foresight import foresee_memory
from ascend_infer.backends.acl_plan import Planner
from ascend_infer.backends.base import LoadedModel, LoadRequest
from ascend_infer.backends.file_state import FileState
from ascend_infer.errors import (
    AclError,
    AclTimeoutError,
    AscendInferError,
    DeviceLostError,
    ModelFileError,
    ModelLoadError,
)
from ascend_infer.gears import GearChooser, sizes_of_om
from ascend_infer.om import OmModel
from ascend_infer.om.computed_types import check_types
from ascend_infer.types import DataType, ModelSpec

__all__ = ["AclModel", "Backend", "refuse_unusable", "spec_of"]


class Backend:
    """Loads .om files through the ACL C library."""

    def load(self, request: LoadRequest) -> AclModel:
        """Load a model; see ``backends.base.Backend.load``.

        Raises
        ------
        ModelFileError, ModelLoadError
            The file is no model for this runtime; seen before a device is touched where the file shows it.
        DeviceOutOfMemoryError, PoolLimitError
            The device's memory, or a pool of fixed size, will not hold it; told before anything is loaded.
        AclError, LibraryError
            The runtime or the device failed.
        """
        if request.device.kind == "cpu":
            raise ModelLoadError(
                f"{request.path}: .om files run on an NPU or on the simulator, not on device 'cpu'",
                path=str(request.path),
            )
        state = FileState.of(request.path)
        file = om.read(request.path)
        refuse_unusable(request, file)
        return AclModel(request, file, state)


@dataclass(frozen=True)
class InstanceOpener:
    """What loads instances of one model, at first and again after a device fault.

    Attributes
    ----------
    request : LoadRequest
    file : OmModel
    state : FileState
        Of the file that was read: no other one is loaded.
    use : DeviceUse
    work_bytes, weight_bytes : int
    weights : Block or None
        On the device, shared by all instances.
    """

    request: LoadRequest
    file: OmModel
    state: FileState
    use: DeviceUse
    work_bytes: int
    weight_bytes: int
    weights: _native.Block | None

    @classmethod
    def prepare(cls, request: LoadRequest, file: OmModel, state: FileState, use: DeviceUse) -> InstanceOpener:
        """Ask for the model's sizes, see that they fit, and take the weights' block."""
        try:
            work, weights = use.shared.device.model_sizes(request.path)
        except AclError as error:
            raise _load_error(request, use.shared, file, error) from error
        foresee_memory(request, use.shared, file, state, work, weights)
        return cls(request, file, state, use, work, weights, use.weights(state, weights, request.model))

    def open(self, name: str) -> _native.AclInstance:
        """Load one instance; blocks.

        Each load copies the file's weights into the block again: they have to be those that lie there already, which
        other instances run on.
        """
        shared = self.use.shared
        self.state.check()
        try:
            instance = _native.open_acl_instance(
                shared.device,
                shared.pool,
                shared.pinned,
                self.request.path,
                name=name,
                slots=self.request.options.slots,
                work_bytes=self.work_bytes,
                weights=self.weights,
            )
        except AclError as error:
            raise _load_error(self.request, shared, self.file, error) from error
        try:
            self.state.check()
        except ModelLoadError:
            instance.close()
            raise
        return instance


class AclModel(LoadedModel):
    """One .om file on a device; see ``backends.base.LoadedModel``."""

    def __init__(self, request: LoadRequest, file: OmModel, state: FileState) -> None:
        options = request.options
        sizes = sizes_of_om(file, batched=options.batched)
        self._chooser = GearChooser(sizes, options.parameters)
        self._spec = spec_of(file)
        self._device = str(request.device)
        self._executables: tuple[AclExecutable, ...] = ()
        self._closed = False
        with ExitStack() as undo:
            self._use = acquire_device(
                request.device, PoolSizes(options.pool_bytes, options.pinned_pool_bytes)
            )
            undo.callback(self._use.release)
            opener = InstanceOpener.prepare(request, file, state, self._use)
            executables: list[AclExecutable] = []
            for number in range(options.instances):
                instance = opener.open(f"{request.model}_{request.first_instance + number}")
                undo.callback(instance.close)
                if not executables:
                    planner = Planner(request.path, file, sizes, instance.description())
                executables.append(
                    AclExecutable(request.model, self._device, instance, self._chooser, planner, opener.open)
                )
            undo.pop_all()
        self._executables = tuple(executables)
        self._details = _details(opener, self._executables[0], self._chooser)
        at_exit_close(self)

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
        """Runtime, chip, memory, slots, gears."""
        return self._details

    @property
    def chooser(self) -> GearChooser:
        """Which gear a request runs in, and why."""
        return self._chooser

    @property
    def shared_device(self) -> SharedDevice:
        """The device and its pools, which other models share."""
        return self._use.shared

    @property
    def shared_devices(self) -> Mapping[str, SharedDevice]:
        """The same by the device's name."""
        return {self._device: self._use.shared}

    def executables(self) -> Sequence[AclExecutable]:
        """Return the executables, one per instance; each may run ``slots`` batches at the same time."""
        return self._executables

    def close(self) -> None:
        """Finish what runs, unload, give memory back. Idempotent; blocks.

        Raises
        ------
        AclError
            The first call that failed; everything else was given back all the same.
        """
        self._close(-1)

    def close_within(self, seconds: float) -> bool:
        """Close if what runs ends within some seconds; returns whether it has. If not, it may be asked again.

        Raises
        ------
        AclError
            As ``close``.
        """
        try:
            self._close(min(int(seconds * 1000), 2**31 - 1))
        except AclTimeoutError:
            if all(executable.closed for executable in self._executables):
                raise
        return self._closed

    def close_at_exit(self, seconds: float) -> None:
        """Close if what runs ends within some seconds; else leave all to the operating system."""
        self.close_within(seconds)

    def _close(self, timeout_ms: int) -> None:
        if self._closed:
            return
        first: AscendInferError | None = None
        for executable in self._executables:
            try:
                executable.close(timeout_ms)
            except AscendInferError as error:
                # That the device is lost was told when a request heard of it.
                told = isinstance(error, DeviceLostError) and any(one.lost for one in self._executables)
                first = first or (None if told else error)
                if not executable.closed:
                    raise
        self._closed = True
        try:
            self._use.release()
        except AscendInferError as error:
            first = first or error
        if first is not None:
            raise first


def _details(opener: InstanceOpener, executable: AclExecutable, chooser: GearChooser) -> Mapping[str, str]:
    native = opener.use.shared.device
    sizes = chooser.sizes
    return {
        "runtime": f"ACL {native.library.path}",
        "soc": native.soc_name,
        "slots": str(executable.slots),
        "weights": f"{opener.weight_bytes} bytes",
        "workspace": f"{opener.work_bytes} bytes an instance",
        "shapes": sizes.kind if not sizes.sizes else f"{sizes.kind}, {len(sizes.sizes)} compiled",
    }


def refuse_unusable(request: LoadRequest, file: OmModel) -> None:
    """Refuse what is no model for this runtime, or has a tensor that no array holds.

    Raises
    ------
    ModelFileError, ModelLoadError
    """
    path = str(request.path)
    if file.is_simulator_model and request.device.kind == "npu":
        reason = "it is a model for the simulator, and real CANN cannot run it"
        raise ModelFileError(
            f"{path}: {reason}; compile the .onnx for this device with atc, or ask for device='sim'",
            path=path,
            reason=reason,
        )
    if file.kind not in ("model", "om2"):
        reason = f"it is a {file.kind}, not one model"
        raise ModelFileError(
            f"{path}: {reason}; compile the model by itself with atc", path=path, reason=reason
        )
    if request.device.kind == "sim" and not file.is_simulator_model:
        _refuse_undescribed(request, file)
    if file.is_simulator_model:
        # An earlier release's compiler took types that no run can read or write.
        check_types(path, path, spec_of(file))
    for tensor in (*file.inputs, *file.outputs):
        if tensor.is_hidden:
            continue
        if tensor.dtype is None or tensor.dtype is DataType.BYTES:
            raise ModelLoadError(
                f"{path}: tensor {tensor.name!r} is {tensor.dtype_name}, which has no array on the device",
                path=path,
            )
        _ = tensor.dtype.numpy  # names the missing package now, not in the first request


def _refuse_undescribed(request: LoadRequest, file: OmModel) -> None:
    """Say what a real model lacks before the simulator can run it, in place of what a card would want done."""
    path = request.path
    static = any(tensor.aipp is not None and tensor.aipp.mode == "static" for tensor in file.inputs)
    if (static or file.io_source == "graph") and not Path(f"{path}.sim.json").exists():
        what = "its AIPP" if static else "its inputs and outputs"
        raise ModelLoadError(
            f"{path}: the simulator does not read {what} out of this model itself; write them beside it once: "
            f"ascend-infer simulate describe {path}",
            path=str(path),
        )


def spec_of(file: OmModel) -> ModelSpec:
    """Return the signature with outputs under their ONNX names, where those are unique."""
    spec = file.spec()
    names = [tensor.onnx_name for tensor in file.outputs]
    taken = {tensor.name for tensor in spec.inputs}
    outputs = tuple(
        replace(tensor, name=name) if names.count(name) == 1 and name not in taken else tensor
        for tensor, name in zip(spec.outputs, names, strict=True)
    )
    return replace(spec, outputs=outputs)


def _load_error(
    request: LoadRequest, shared: SharedDevice, file: OmModel, error: AclError
) -> AscendInferError:
    """Say of a refused file what it is and what would do; memory, a lost device and time-outs stay what they are."""
    if isinstance(error, DeviceLostError | MemoryError | TimeoutError) or error.code is None:
        return error
    if not model_unfit(error.code):
        return error
    path, soc = str(request.path), shared.device.soc_name
    again = (
        "ascend-infer simulate compile MODEL.onnx" if file.is_simulator_model else f"atc --soc_version={soc}"
    )
    made_for = file.soc_version or "an unknown chip"
    # The simulator is no chip, and what it refuses was compiled for none.
    if request.device.kind == "npu" and chip_unfit(error.code) and made_for != soc:
        why = f"it was compiled for {made_for}, the device is {soc}; compile it again"
    else:
        why = "see that it was copied whole, or compile it again"
    return ModelLoadError(f"{path}: the runtime refuses it; {why}: {again}\n{error}", path=path)
