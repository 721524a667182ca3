"""What a gear choice means for an instance: numbers worked out once, used by every batch of the same shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ascend_infer._native import AclLaunch
from ascend_infer.backends.base import Array
from ascend_infer.errors import InvalidInputError, ModelLoadError
from ascend_infer.gears import GearChoice, GearLaunch, ModelSizes
from ascend_infer.om import OmModel

__all__ = ["LaunchPlan", "OutputPlan", "Planner", "gear_label"]

Dims = tuple[int, ...]
T = TypeVar("T")

#: Rows above this many bytes are handed out in the pinned memory they arrived in, smaller ones are copied out of it.
SMALL_ROW = 4096
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """One output of a launch.

    Attributes
    ----------
    shape : tuple of int
        What comes back: the request's rows where only rows were padded, else all the gear gives.
    nbytes : int
    has_rows : bool
        The request's rows lie along its first axis.
    entry : tuple
        As ``AclInstance.run`` wants it.
    """

    shape: Dims
    nbytes: int
    has_rows: bool
    entry: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """One launch.

    Attributes
    ----------
    launch : GearLaunch
    gear : int
        Of the instance; -1 for a model without.
    outputs : tuple of OutputPlan
    rows_only : bool
        Nothing but rows is padded: the instance fills them up itself, and no output needs cutting.
    """

    launch: GearLaunch
    gear: int
    outputs: tuple[OutputPlan, ...]
    rows_only: bool


class Planner:
    """Turns choices into plans for the instances of one model.

    Thread safety: plans are values, and remembering one twice does no harm.

    Raises
    ------
    ModelLoadError
        The library describes the model otherwise than its file.
    """

    def __init__(self, path: Path, file: OmModel, sizes: ModelSizes, description: Mapping[str, Any]) -> None:
        self.sizes = sizes
        self.dynamic = description["shapes"] == "dynamic"
        fed = [tensor for tensor in file.inputs if not tensor.is_hidden]
        self.inputs = tuple(tensor.name for tensor in fed)
        self.dtypes = tuple(_numpy(tensor.dtype) for tensor in file.outputs)
        self.outputs: dict[str, int] = {}
        names = [tensor.onnx_name for tensor in file.outputs]
        for index, tensor in enumerate(file.outputs):
            if names.count(tensor.onnx_name) == 1:
                self.outputs[tensor.onnx_name] = index
        # The full names come second: they win where a short one is another output's full one.
        self.outputs.update({tensor.name: index for index, tensor in enumerate(file.outputs)})
        self.display = tuple(
            tensor.onnx_name if names.count(tensor.onnx_name) == 1 else tensor.name for tensor in file.outputs
        )
        for kind, told, read in (
            ("inputs", description["inputs"], fed),
            ("outputs", description["outputs"], file.outputs),
        ):
            have = [(name, dtype) for name, dtype, *_ in told]
            want = [(tensor.name, tensor.dtype_code) for tensor in read]
            if [dtype for _, dtype in have] != [dtype for _, dtype in want]:
                raise ModelLoadError(
                    f"{path}: the library describes its {kind} as {have}, the file as {want}", path=str(path)
                )
        self._gears = self._match_gears(path, description)
        self._output_dims: tuple[tuple[Dims, ...], ...] = description["gear_outputs"] or (
            tuple(tensor[3] for tensor in description["outputs"]),
        )
        self._known: dict[int, tuple[GearChoice, tuple[LaunchPlan, ...]]] = {}
        #: What was launched before, by outputs and shapes; shared by the model's instances.
        self.launches: dict[Any, AclLaunch] = {}
        self._ran: set[int | None] = set()

    def remember(self, outputs: Sequence[str], shapes: Sequence[Dims], launch: AclLaunch) -> None:
        """Have batches of these shapes run as this launch from now on."""
        if len(self.launches) >= _REMEMBERED:
            self.launches.clear()
        self.launches[outputs, *shapes] = launch

    def forget(self) -> None:
        """Have every choice made anew: costs have moved."""
        self.launches.clear()

    def is_first(self, launch: GearLaunch) -> bool:
        """Whether none of its size ran before; from now on one has."""
        if launch.index in self._ran:
            return False
        self._ran.add(launch.index)
        return True

    def padded_rows(self, choice: GearChoice) -> int:
        """Return how many rows a choice computes on top of those asked for."""
        number = next(iter(self.sizes.row_inputs), None)
        return 0 if number is None else sum(launch.pads[number][0] for launch in choice.launches)

    def plan(self, choice: GearChoice) -> tuple[LaunchPlan, ...]:
        """Return the launches of a choice, worked out."""
        known = self._known.get(id(choice))
        if known is not None and known[0] is choice:
            return known[1]
        plans = tuple(self._plan(launch) for launch in choice.launches)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[id(choice)] = (choice, plans)
        return plans

    def output_index(self, name: str) -> int:
        """Return the position of an output by either of its names."""
        index = self.outputs.get(name)
        if index is None:
            raise InvalidInputError(
                f"there is no output {name!r}; there are {', '.join(map(repr, self.display))}",
                input=name,
                expected=", ".join(self.display),
                got=name,
            )
        return index

    def in_order(self, inputs: Mapping[str, T]) -> list[T]:
        """Return the inputs in the model's order."""
        try:
            return [inputs[name] for name in self.inputs]
        except KeyError as error:
            raise InvalidInputError(
                f"input {error.args[0]!r} is missing; the model takes {', '.join(map(repr, self.inputs))}",
                input=str(error.args[0]),
            ) from None

    def _match_gears(self, path: Path, description: Mapping[str, Any]) -> tuple[int, ...]:
        if not description["gears"]:
            return (-1,)
        # A gear of all dims is told by what goes in; of batches and pictures the library gives the values themselves,
        # and under AIPP what goes in is more than these say.
        by_values = description["shapes"] != "dims"
        told = {key: index for index, key in enumerate(description["gears" if by_values else "gear_inputs"])}
        found = []
        for size in self.sizes.sizes:
            key = size.gear.values if by_values and size.gear is not None else size.inputs
            index = told.get(key)
            if index is None:
                raise ModelLoadError(
                    f"{path}: the file has a gear {key}, the library has {list(told)}", path=str(path)
                )
            found.append(index)
        return tuple(found)

    def _plan(self, launch: GearLaunch) -> LaunchPlan:
        gear = self._gears[launch.index or 0]
        rows_only = all(
            not any(pad[1:]) and (not any(pad) or number in self.sizes.row_inputs)
            for number, pad in enumerate(launch.pads)
        )
        outputs = []
        for index, dims in enumerate(self._output_dims[max(gear, 0)]):
            cuts = launch.crops[index] if launch.crops else ()
            shape = dims
            if rows_only:
                shape = tuple(
                    next((cut.keep(dim) for cut in cuts if cut.axis == axis), dim)
                    for axis, dim in enumerate(dims)
                )
                rows_only = rows_only and all(cut.axis == 0 for cut in cuts)
            outputs.append((index, dims, shape))
        plans = []
        for index, dims, cut in outputs:
            shape = cut if rows_only else dims
            nbytes = prod(shape) * self.dtypes[index].itemsize
            row = nbytes // max(1, shape[0]) if shape else nbytes
            entry = (index, shape, self.dtypes[index], nbytes, row > SMALL_ROW, None)
            plans.append(OutputPlan(shape, nbytes, index in self.sizes.row_outputs, entry))
        return LaunchPlan(launch, gear, tuple(plans), rows_only)

    def wanted(
        self, plan: LaunchPlan, indices: Sequence[int], out: Mapping[int, Array]
    ) -> list[tuple[Any, ...]]:
        """Return what a launch is asked for; outputs go straight into arrays of ``out``."""
        entries = []
        for index in indices:
            entry = plan.outputs[index].entry
            target = out.get(index)
            entries.append(entry if target is None else (*entry[:5], target))
        return entries


def gear_label(choice: GearChoice) -> str | None:
    """Return a choice's compiled sizes as results show them: ``"batch 8"``; None where there is nothing to choose."""
    labels = {
        f"{launch.gear.kind} {'x'.join(map(str, launch.gear.values))}": None
        for launch in choice.launches
        if launch.gear is not None
    }
    return " + ".join(labels) or None


def _numpy(dtype: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = dtype.numpy
    return found
