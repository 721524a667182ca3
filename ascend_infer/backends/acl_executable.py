"""One instance in the scheduler's hand: requests padded to gears, split, run, cut back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

import numpy as np

from ascend_infer import _native
from ascend_infer.acl_codes import device_fault
from ascend_infer.backends.acl_plan import LaunchPlan, OutputPlan, Planner
from ascend_infer.backends.base import Array, Cancellation
from ascend_infer.device_pointer import DevicePointer, borrowed
from ascend_infer.errors import (
    AclError,
    AscendInferError,
    ClosedError,
    InvalidInputError,
    ModelExecutionError,
    RequestCancelledError,
)
from ascend_infer.gears import GearChoice, GearChooser
from ascend_infer.gears.padding import crop_outputs, join_outputs, pad_inputs
from ascend_infer.output_array import fill_out

__all__ = ["AclExecutable"]

#: The runtime's word for a model that failed by itself; other 507xxx are about the device.
_MODEL_FAILED = 507011
#: Shapes and outputs that are looked up; what comes later is worked out each time.
_REMEMBERED = 256
#: Milliseconds that a faulted instance is given to end what it still runs.
_FAULT_PATIENCE = 5000


class AclExecutable:
    """Runs batches on one instance; see ``backends.base.Executable``.

    ``slots`` threads may call :meth:`execute` at the same time, and more wait for their turn. An instance that a
    device fault has ended is loaded anew by the next batch.
    """

    def __init__(
        self,
        model: str,
        device: str,
        instance: _native.AclInstance,
        chooser: GearChooser,
        planner: Planner,
        reopen: Callable[[str], _native.AclInstance],
    ) -> None:
        self._model = model
        self._device = device
        self._instance = instance
        self._chooser = chooser
        self._planner = planner
        self._reopen = reopen
        self._reload_lock = threading.Lock()
        self._closed = False
        # Costs are learnt from batches that had the instance to themselves.
        self._learns = len(chooser.sizes.sizes) > 1
        self._alone = threading.Lock()
        self._crowded = False
        # A model of one size has nothing to decide: what a batch of the same shapes came to is looked up.
        self._known: dict[tuple[object, ...], tuple[int, list[tuple[object, ...]]]] | None = (
            None if self._learns or planner.dynamic else {}
        )

    @property
    def device(self) -> str:
        """``"npu:0"`` or ``"sim:0"``."""
        return self._device

    @property
    def slots(self) -> int:
        """Batches that may be in flight."""
        return self._instance.slots

    @property
    def interruptible(self) -> bool:
        """The wait for the device is made in slices."""
        return not self._planner.dynamic

    @property
    def gathers(self) -> bool:
        """Not yet."""
        return False

    @property
    def closed(self) -> bool:
        """Whether everything was given back."""
        return self._instance.closed

    @property
    def instance(self) -> _native.AclInstance:
        """The loaded copy that runs now."""
        return self._instance

    def execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
    ) -> list[Array]:
        """Run one batch; see ``backends.base.Executable.execute``.

        A batch on the device cannot be stopped: a cancelled one is let go, and the device finishes it.

        Raises
        ------
        NoGearError
            No compiled size takes these shapes.
        AclError
            The device failed; the instance is loaded anew by the next batch.
        """
        if cancellation is None:
            return self._execute(inputs, outputs, out, None)
        with borrowed(inputs.values()):
            return self._execute(inputs, outputs, out, cancellation)

    def close(self, timeout_ms: int = -1) -> None:
        """Finish what runs and unload; idempotent, blocks."""
        with self._reload_lock:
            self._closed = True
            self._instance.close(timeout_ms)

    def _execute(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None,
        cancellation: Cancellation | None,
    ) -> list[Array]:
        go_on = None
        if cancellation is not None:
            # There is nothing to stop: the wish is looked at while the caller waits.
            cancellation.arm(lambda: None)
            if cancellation.requested:
                raise RequestCancelledError(f"model {self._model!r}: cancelled before it ran")
            wish = cancellation
            go_on = lambda: not wish.requested  # noqa: E731
        instance = self._instance
        if instance.retired:
            instance = self._reload(instance)
        planner = self._planner
        arrays = planner.in_order(inputs)
        if self._known is not None and out is None and go_on is None:
            known = self._known.get((*[array.shape for array in arrays], *outputs))
            if known is not None:
                try:
                    return instance.run(arrays, *known)
                except AclError as error:
                    self._raise(error)
        indices = [planner.output_index(name) for name in outputs]
        targets = {planner.output_index(name): array for name, array in out.items()} if out else {}
        try:
            if planner.dynamic:
                return self._run_dynamic(instance, arrays, indices, targets, go_on)
            choice = self._chooser.choose([array.shape for array in arrays])
            plans = planner.plan(choice)
            if len(plans) == 1 and plans[0].rows_only:
                plan = plans[0]
                if targets:
                    self._check_targets(plan.outputs, targets)
                wanted = planner.wanted(plan, indices, targets)
                if self._known is not None and not targets and len(self._known) < _REMEMBERED:
                    self._known[(*[array.shape for array in arrays], *outputs)] = (plan.gear, wanted)
                return self._launch(instance, plan, arrays, wanted, go_on)
            return self._run_choice(instance, choice, plans, arrays, indices, targets, go_on)
        except AclError as error:
            self._raise(error)
        finally:
            if cancellation is not None:
                cancellation.disarm()

    def _launch(
        self,
        instance: _native.AclInstance,
        plan: LaunchPlan,
        arrays: Sequence[Array],
        wanted: list[tuple[object, ...]],
        go_on: Callable[[], bool] | None,
    ) -> list[Array]:
        if not self._learns:
            return instance.run(arrays, plan.gear, wanted, go_on)
        if not self._alone.acquire(blocking=False):
            self._crowded = True
            return instance.run(arrays, plan.gear, wanted, go_on)
        try:
            self._crowded = False
            begin = time.perf_counter()
            results = instance.run(arrays, plan.gear, wanted, go_on)
            if not self._crowded:
                self._chooser.observe(plan.launch, time.perf_counter() - begin)
            return results
        finally:
            self._alone.release()

    def _run_choice(
        self,
        instance: _native.AclInstance,
        choice: GearChoice,
        plans: Sequence[LaunchPlan],
        arrays: list[Array],
        indices: list[int],
        targets: Mapping[int, Array],
        go_on: Callable[[], bool] | None,
    ) -> list[Array]:
        """Run a request that is split, or padded along more than its rows."""
        planner, rules = self._planner, self._chooser.rules
        if not all(plan.rows_only for plan in plans):
            refuse_pointers(planner.inputs, arrays)
        parts = []
        for plan in plans:
            fed = (
                [
                    array[plan.launch.first_row : plan.launch.first_row + plan.launch.rows]
                    if number in planner.sizes.row_inputs and plan.launch.rows
                    else array
                    for number, array in enumerate(arrays)
                ]
                if plan.rows_only
                else pad_inputs(planner.sizes, plan.launch, arrays, rules=rules)
            )
            every = range(len(plan.outputs)) if not plan.rows_only else indices
            got = self._launch(instance, plan, fed, planner.wanted(plan, every, {}), go_on)
            if plan.rows_only:
                parts.append(got)
            else:
                cut = crop_outputs(plan.launch, got)
                parts.append([cut[index] for index in indices])
        joined = join_outputs(choice, parts)
        names = [planner.display[index] for index in indices]
        return fill_out(names, joined, {planner.display[index]: array for index, array in targets.items()})

    def _run_dynamic(
        self,
        instance: _native.AclInstance,
        arrays: list[Array],
        indices: list[int],
        targets: Mapping[int, Array],
        go_on: Callable[[], bool] | None,
    ) -> list[Array]:
        planner = self._planner
        shapes = [array.shape for array in arrays]
        self._chooser.choose(shapes)  # refuses what lies outside the model's limits, by name
        results = instance.run_dynamic(
            arrays, shapes, indices, [planner.dtypes[index] for index in indices], go_on
        )
        names = [planner.display[index] for index in indices]
        return fill_out(names, results, {planner.display[index]: array for index, array in targets.items()})

    def _check_targets(self, outputs: Sequence[OutputPlan], targets: Mapping[int, Array]) -> None:
        for index, target in targets.items():
            shape = outputs[index].shape
            if target.shape != shape:
                name = self._planner.display[index]
                fill_out([name], [np.empty(shape, np.bool_)], {name: target})

    def _reload(self, old: _native.AclInstance) -> _native.AclInstance:
        with self._reload_lock:
            if self._closed:
                raise ClosedError(f"model {self._model!r} is closed")
            if self._instance is not old:
                return self._instance
            with suppress(AscendInferError):
                old.close(_FAULT_PATIENCE)
            self._instance = self._reopen(old.name)
            return self._instance

    def _raise(self, error: AclError) -> NoReturn:
        """Tell failures of the model or its inputs from those of the device, the driver and memory."""
        code = error.code
        if code is None or isinstance(error, MemoryError | TimeoutError):
            raise error
        if code != _MODEL_FAILED and (device_fault(code) or str(code)[:3] in ("507", "207")):
            raise error
        raise ModelExecutionError(f"model {self._model!r} failed: {error}", model=self._model) from error


def refuse_pointers(names: Sequence[str], arrays: Sequence[Array | DevicePointer]) -> None:
    """Refuse tensors on the device where more than their rows would be padded: that is done on the host."""
    for name, array in zip(names, arrays, strict=True):
        if isinstance(array, DevicePointer):
            raise InvalidInputError(
                f"input {name!r}: got a DevicePointer of shape {list(array.shape)}, which no compiled size has: its "
                "rows are padded on the device, other axes only of arrays on the host; give it in a compiled size",
                input=name,
                expected="a compiled size",
                got=f"shape {list(array.shape)}",
            )
