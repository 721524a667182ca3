"""Models in .om files on an Ascend NPU, or on the simulator: the same code on another library.

An instance is one loaded copy of the model with streams of its own; its slots let the next batch be copied in while
one computes. Weights are on a device once, whoever uses them. The GIL is released while a batch runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from ascend_infer import _native, om
from ascend_infer.acl_codes import model_unfit
from ascend_infer.backends.acl_device import SharedDevice, acquire_device, at_exit_close
from ascend_infer.backends.acl_executable import AclExecutable
from ascend_infer.backends.acl_plan import Planner
from ascend_infer.backends.base import LoadRequest
from ascend_infer.errors import (
    AclError,
    AscendInferError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    ModelFileError,
    ModelLoadError,
)
from ascend_infer.gears import GearChooser, sizes_of_om
from ascend_infer.om import OmModel
from ascend_infer.types import DataType, ModelSpec

__all__ = ["AclModel", "Backend"]


class Backend:
    """Loads .om files through the ACL C library."""

    def load(self, request: LoadRequest) -> AclModel:
        """Load a model; see ``backends.base.Backend.load``.

        Raises
        ------
        ModelFileError, ModelLoadError
            The file is no model for this runtime; seen before a device is touched where the file shows it.
        DeviceOutOfMemoryError
            The device's memory will not hold it, told before anything is loaded.
        AclError, LibraryError
            The runtime or the device failed.
        """
        if request.device.kind == "cpu":
            raise ModelLoadError(
                f"{request.path}: .om files run on an NPU or on the simulator, not on device 'cpu'",
                path=str(request.path),
            )
        file = om.read(request.path)
        _refuse_unusable(request, file)
        return AclModel(request, file)


class AclModel:
    """One .om file on a device; see ``backends.base.LoadedModel``."""

    def __init__(self, request: LoadRequest, file: OmModel) -> None:
        self._request = request
        options = request.options
        sizes = sizes_of_om(file, batched=options.batched)
        self._chooser = GearChooser(sizes, options.parameters)
        self._spec = _spec(file)
        self._executables: tuple[AclExecutable, ...] = ()
        self._closed = False
        with ExitStack() as undo:
            self._shared = acquire_device(request.device, options)
            undo.callback(self._shared.release)
            work, weights = self._sizes(file)
            _foresee(request, self._shared, file, work, weights)
            self._key, held = self._shared.weights(request.path, weights, request.model)
            undo.callback(self._shared.release_weights, self._key)
            self._work, self._weights = work, held.block
            executables: list[AclExecutable] = []
            for number in range(options.instances):
                instance = self._open(f"{request.model}_{number}", file)
                undo.callback(instance.close)
                if not executables:
                    planner = Planner(request.path, file, sizes, instance.description())
                executables.append(
                    AclExecutable(request.model, instance, self._chooser, planner, self._reopen)
                )
            undo.pop_all()
        self._file = file
        self._executables = tuple(executables)
        self._planner = planner
        at_exit_close(self)

    @property
    def spec(self) -> ModelSpec:
        """The signature; outputs have their ONNX names where the file tells them."""
        return self._spec

    @property
    def device(self) -> str:
        """``"npu:0"`` or ``"sim:0"``."""
        return str(self._request.device)

    @property
    def details(self) -> Mapping[str, str]:
        """Runtime, chip, memory, slots, gears."""
        native = self._shared.device
        gears = self._chooser.sizes
        return {
            "runtime": f"ACL {native.library.path}",
            "soc": native.soc_name,
            "slots": str(self._executables[0].slots if self._executables else self._request.options.slots),
            "weights": f"{self._weights.nbytes if self._weights is not None else 0} bytes",
            "workspace": f"{self._work} bytes an instance",
            "shapes": gears.kind if not gears.sizes else f"{gears.kind}, {len(gears.sizes)} compiled",
        }

    @property
    def chooser(self) -> GearChooser:
        """Which gear a request runs in, and why."""
        return self._chooser

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

    def close_at_exit(self, seconds: float) -> None:
        """Close if what runs ends within some seconds; else leave all to the operating system."""
        self._close(int(seconds * 1000))

    def _close(self, timeout_ms: int) -> None:
        if self._closed:
            return
        first: AscendInferError | None = None
        for executable in self._executables:
            try:
                executable.close(timeout_ms)
            except AscendInferError as error:
                first = first or error
                if not executable.closed:
                    raise
        self._closed = True
        self._weights = None
        try:
            self._shared.release_weights(self._key)
        except AscendInferError as error:
            first = first or error
        try:
            self._shared.release()
        except AscendInferError as error:
            first = first or error
        if first is not None:
            raise first

    def _sizes(self, file: OmModel) -> tuple[int, int]:
        try:
            return self._shared.device.model_sizes(self._request.path)
        except AclError as error:
            raise _load_error(self._request, self._shared, file, error) from error

    def _open(self, name: str, file: OmModel) -> _native.AclInstance:
        try:
            return _native.open_acl_instance(
                self._shared.device,
                self._shared.pool,
                self._shared.pinned,
                self._request.path,
                name=name,
                slots=self._request.options.slots,
                work_bytes=self._work,
                weights=self._weights,
            )
        except AclError as error:
            raise _load_error(self._request, self._shared, file, error) from error

    def _reopen(self, old: _native.AclInstance) -> _native.AclInstance:
        """Load an instance anew in place of one that a device fault has ended."""
        return self._open(old.name, self._file)


def _refuse_unusable(request: LoadRequest, file: OmModel) -> None:
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
    for tensor in (*file.inputs, *file.outputs):
        if tensor.is_hidden:
            continue
        if tensor.dtype is None or tensor.dtype is DataType.BYTES:
            raise ModelLoadError(
                f"{path}: tensor {tensor.name!r} is {tensor.dtype_name}, which has no array on the device",
                path=path,
            )
        _ = tensor.dtype.numpy  # names the missing package now, not in the first request


def _spec(file: OmModel) -> ModelSpec:
    """Return the signature with outputs under their ONNX names, where those are unique."""
    spec = file.spec()
    names = [tensor.onnx_name for tensor in file.outputs]
    taken = {tensor.name for tensor in spec.inputs}
    outputs = tuple(
        replace(tensor, name=name) if names.count(name) == 1 and name not in taken else tensor
        for tensor, name in zip(spec.outputs, names, strict=True)
    )
    return replace(spec, outputs=outputs)


def _foresee(request: LoadRequest, shared: SharedDevice, file: OmModel, work: int, weights: int) -> None:
    """Refuse what cannot fit before anything is loaded, saying what to lower."""
    options = request.options
    slot = sum(tensor.size for tensor in (*file.inputs, *file.outputs))
    slots = 1 if file.dynamic == "shape" else options.slots
    needed = weights + options.instances * (work + slots * slot)
    free, total, kind = shared.device.memory()
    stats = shared.pool.stats()
    if needed <= free + stats.held_bytes:
        return
    holders = tuple((owner.name, owner.active_bytes) for owner in shared.pool.owners()[:5])
    most = f"; most of the pool is held by {_listed(holders)}" if holders else ""
    raise DeviceOutOfMemoryError(
        f"{kind} exhausted on {request.device}: model {request.model!r} needs {needed:,} bytes "
        f"({weights:,} weights, and for each of {options.instances} instances {work:,} workspace and "
        f"{slots} slots of {slot:,}), {free:,} of {total:,} are free and {stats.held_bytes:,} more in the pool{most}; "
        "fewer instances, fewer slots or a smaller largest batch need less",
        needed=needed,
        free=free,
        total=total,
        holders=holders,
    )


def _listed(holders: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{name}: {size:,}" for name, size in holders[:3])


def _load_error(
    request: LoadRequest, shared: SharedDevice, file: OmModel, error: AclError
) -> AscendInferError:
    """Say of a refused file what it is and what would do; memory, a lost device and time-outs stay what they are."""
    if isinstance(error, DeviceLostError | MemoryError | TimeoutError) or error.code is None:
        return error
    soc = shared.device.soc_name
    made_for = file.soc_version or "an unknown chip"
    remedy = f"; it was compiled for {made_for}, the device is {soc}" if made_for != soc else ""
    if not model_unfit(error.code) and not remedy:
        return error
    path = str(request.path)
    return ModelLoadError(
        f"{path}: the runtime refuses it{remedy}; compile it again: atc --soc_version={soc}\n{error}",
        path=path,
    )
