"""One instance in the scheduler's hand: requests padded to gears, split, run, cut back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ascend_infer import _native
from ascend_infer.acl_codes import device_fault
from ascend_infer.backends.acl_plan import LaunchPlan, OutputPlan, Planner, gear_label
from ascend_infer.backends.base import Array, Cancellation
from ascend_infer.backends.batch_arrays import Batchable, batch_shape, joined, refuse_pointers
from ascend_infer.device_pointer import borrowed
from ascend_infer.errors import (
    AclError,
    AclInternalError,
    AscendInferError,
    ClosedError,
    DeviceLostError,
    ModelExecutionError,
    RequestCancelledError,
)
from ascend_infer.gears import GearChoice, GearChooser, GearLaunch
from ascend_infer.gears.padding import crop_outputs, join_outputs, pad_inputs
from ascend_infer.output_array import fill_out

__all__ = ["AclExecutable"]

#: The runtime's word for a model that failed by itself; other 507xxx are about the device.
_MODEL_FAILED = 507011
#: Milliseconds that a faulted instance is given to end what it still runs.
_FAULT_PATIENCE = 5000


class AclExecutable:
    """Runs batches on one instance; see ``backends.base.Executable``.

    ``slots`` threads may call :meth:`execute` at the same time, and more wait for their turn. An instance that a
    device fault has ended is loaded anew by :meth:`recover`, or by the next batch.
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
        self._lost = ""
        #: See ``backends.base.LeavingExecutable``.
        self.on_left: Callable[[], None] | None = None
        # Costs are learnt where there is something to choose.
        self._learns = len(chooser.sizes.sizes) > 1

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
        """Each array of a list is copied once, straight into pinned memory."""
        return True

    @property
    def reports(self) -> bool:
        """Runs tell their size, their padding and their times."""
        return True

    @property
    def faulted(self) -> bool:
        """Whether a device fault has ended the instance, or its device is lost."""
        return self._instance.retired or bool(self._lost)

    @property
    def closed(self) -> bool:
        """Whether everything was given back."""
        return self._instance.closed

    @property
    def lost(self) -> bool:
        """Whether it was told that its device is lost."""
        return bool(self._lost)

    @property
    def instance(self) -> _native.AclInstance:
        """The loaded copy that runs now."""
        return self._instance

    def execute(
        self,
        inputs: Mapping[str, Batchable],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None = None,
        cancellation: Cancellation | None = None,
        report: _native.RunReport | None = None,
    ) -> list[Array]:
        """Run one batch; see ``backends.base.ReportingExecutable.execute``.

        Lists of arrays run as one batch of all their rows. A batch on the device cannot be stopped: a cancelled one is
        let go, and the device finishes it.

        Raises
        ------
        NoGearError
            No compiled size takes these shapes.
        AclError
            The device failed; the instance is loaded anew by ``recover``, or by the next batch.
        """
        if cancellation is None:
            return self._run(inputs, outputs, out, None, report)
        with borrowed(inputs.values()):
            # There is nothing to stop: the wish is looked at while the caller waits.
            cancellation.arm(lambda: None)
            try:
                if cancellation.requested:
                    raise RequestCancelledError(f"model {self._model!r}: cancelled before it ran")
                return self._run(inputs, outputs, out, lambda: not cancellation.requested, report)
            finally:
                cancellation.disarm()

    def recover(self) -> None:
        """Load the instance anew if a device fault has ended it; see ``backends.base.RecoverableExecutable``."""
        if self._lost:
            raise DeviceLostError(self._lost)
        instance = self._instance
        if instance.retired:
            self._reload(instance)

    def reclaim(self) -> int:
        """Ask after batches that were left; see ``backends.base.LeavingExecutable``."""
        return self._instance.reclaim()

    def close(self, timeout_ms: int = -1) -> None:
        """Finish what runs and unload; idempotent, blocks."""
        with self._reload_lock:
            self._closed = True
            self._instance.close(timeout_ms)

    def _run(
        self,
        inputs: Mapping[str, Batchable],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None,
        go_on: Callable[[], bool] | None,
        report: _native.RunReport | None,
    ) -> list[Array]:
        planner = self._planner
        instance = self._instance
        while True:
            try:
                if out is None:
                    known = instance.run_known(
                        planner.launches, planner.inputs, inputs, tuple(outputs), report, go_on
                    )
                    if known is not None:
                        return known
                return self._execute(instance, inputs, outputs, out, go_on, report)
            except AclError as error:
                if not never_ran(instance, error):
                    self._raise(error)
            except ClosedError:
                # Of an instance that is being loaded anew this says no more than that the batch came too late for it.
                if self._closed or not instance.retired:
                    raise
            except BaseException:
                if self.on_left is not None and self._instance.left:
                    self.on_left()
                raise
            instance = self._reload(instance)

    def _execute(
        self,
        instance: _native.AclInstance,
        inputs: Mapping[str, Batchable],
        outputs: Sequence[str],
        out: Mapping[str, Array] | None,
        go_on: Callable[[], bool] | None,
        report: _native.RunReport | None,
    ) -> list[Array]:
        if instance.retired:
            instance = self._reload(instance)
        planner = self._planner
        given = planner.in_order(inputs)
        indices = [planner.output_index(name) for name in outputs]
        targets = {planner.output_index(name): array for name, array in out.items()} if out else {}
        if planner.dynamic:
            return self._run_dynamic(instance, joined(given), indices, targets, go_on, report)
        shapes = [
            batch_shape(self._model, name, array) for name, array in zip(planner.inputs, given, strict=True)
        ]
        costs = self._chooser.costs
        choice = self._chooser.choose(shapes)
        plans = planner.plan(choice)
        if report is not None:
            report.padded_rows, report.gear = planner.padded_rows(choice), gear_label(choice)
        if len(plans) > 1 or not plans[0].rows_only:
            return self._run_choice(instance, choice, plans, joined(given), indices, targets, go_on, report)
        [plan] = plans
        if targets:
            self._check_targets(plan.outputs, targets)
            return self._launch(instance, plan, given, planner.wanted(plan, indices, targets), go_on, report)
        names = tuple(outputs)
        wanted = planner.wanted(plan, indices, {})
        launch = _native.AclLaunch(
            plan.gear,
            wanted,
            planner.padded_rows(choice),
            gear_label(choice),
            partial(learn, self._chooser, planner, plan.launch) if self._learns else None,
        )
        planner.remember(names, shapes, launch)
        if self._chooser.costs is not costs:
            planner.forget()
        known = instance.run_known({(names, *shapes): launch}, planner.inputs, inputs, names, report, go_on)
        # What is no plain array, memory on the device for one, goes the long way.
        return self._launch(instance, plan, given, wanted, go_on, report) if known is None else known

    def _launch(
        self,
        instance: _native.AclInstance,
        plan: LaunchPlan,
        arrays: Sequence[Any],
        wanted: list[tuple[object, ...]],
        go_on: Callable[[], bool] | None,
        report: _native.RunReport | None,
    ) -> list[Array]:
        if not self._learns:
            return instance.run(arrays, plan.gear, wanted, go_on, report)
        own = _native.RunReport() if report is None else report
        before = own.device_ns
        results = instance.run(arrays, plan.gear, wanted, go_on, own)
        learn(self._chooser, self._planner, plan.launch, own.device_ns - before)
        return results

    def _run_choice(
        self,
        instance: _native.AclInstance,
        choice: GearChoice,
        plans: Sequence[LaunchPlan],
        arrays: list[Array],
        indices: list[int],
        targets: Mapping[int, Array],
        go_on: Callable[[], bool] | None,
        report: _native.RunReport | None,
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
            got = self._launch(instance, plan, fed, planner.wanted(plan, every, {}), go_on, report)
            if plan.rows_only:
                parts.append(got)
            else:
                cut = crop_outputs(plan.launch, got)
                parts.append([cut[index] for index in indices])
        results = join_outputs(choice, parts)
        names = [planner.display[index] for index in indices]
        return fill_out(names, results, {planner.display[index]: array for index, array in targets.items()})

    def _run_dynamic(
        self,
        instance: _native.AclInstance,
        arrays: list[Array],
        indices: list[int],
        targets: Mapping[int, Array],
        go_on: Callable[[], bool] | None,
        report: _native.RunReport | None,
    ) -> list[Array]:
        planner = self._planner
        shapes = [array.shape for array in arrays]
        self._chooser.choose(shapes)  # refuses what lies outside the model's limits, by name
        results = instance.run_dynamic(
            arrays, shapes, indices, [planner.dtypes[index] for index in indices], go_on, report
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
            if self._lost:
                raise DeviceLostError(self._lost)
            if self._instance is not old:
                return self._instance
            with suppress(AscendInferError):
                old.close(_FAULT_PATIENCE)
            self._instance = self._reopen(old.name)
            return self._instance

    def _raise(self, error: AclError) -> NoReturn:
        """Tell failures of the model or its inputs from those of the device, the driver and memory."""
        if isinstance(error, DeviceLostError):
            self._lost = str(error)
            raise error
        code = error.code
        if code is None or isinstance(error, MemoryError | TimeoutError):
            raise error
        if code != _MODEL_FAILED and (device_fault(code) or str(code)[:3] in ("507", "207")):
            raise error
        raise ModelExecutionError(f"model {self._model!r} failed: {error}", model=self._model) from error


def never_ran(instance: _native.AclInstance, error: AclError) -> bool:
    """Whether a batch waited for its turn when another one's fault ended the instance: that has told its own code."""
    return instance.retired and isinstance(error, AclInternalError) and error.code is None


def learn(chooser: GearChooser, planner: Planner, launch: GearLaunch, nanoseconds: int) -> None:
    """Take in what a launch cost, but for the first of each size: what only that sets up is no cost of the size."""
    if planner.is_first(launch):
        return
    before = chooser.costs
    chooser.observe(launch, nanoseconds * 1e-9)
    if chooser.costs is not before:
        planner.forget()
