"""What was decided for a request: launches, each with its gear, its padding and what to cut off again."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_infer.gears.crop import AxisCrop
from ascend_infer.gears.sizes import Dims
from ascend_infer.types import Gear

__all__ = ["GearChoice", "GearLaunch"]


@dataclass(frozen=True, slots=True)
class GearLaunch:
    """One launch of the model. Tuples over tensors are in the order of the model's inputs and outputs.

    Attributes
    ----------
    index : int or None
        Of the size in ``ModelSizes.sizes``; None for a dynamic-shape model.
    gear : Gear or None
        What to set before the launch; None where there is nothing to set.
    first_row, rows : int
        Which rows of the request it takes; 0 and 0 where the model has no rows or they are not counted.
    input_shapes : tuple of dims
        What the device gets.
    pads : tuple of dims
        Elements added behind each axis of each input.
    crops : tuple of tuple of AxisCrop
        What of each output belongs to the request; empty where nothing has to go.
    cost : float
        Seconds, measured or estimated.
    is_measured : bool
    """

    index: int | None
    gear: Gear | None
    first_row: int
    rows: int
    input_shapes: tuple[Dims, ...]
    pads: tuple[Dims, ...]
    crops: tuple[tuple[AxisCrop, ...], ...]
    cost: float = 0.0
    is_measured: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether nothing is padded."""
        return not any(any(pad) for pad in self.pads)


@dataclass(frozen=True, slots=True)
class GearChoice:
    """How a request runs.

    Attributes
    ----------
    launches : tuple of GearLaunch
        One, or several that take the request's rows in order, each row once.
    cost : float
        Seconds of all launches, measured or estimated.
    waste : float
        Share of the launched input elements that is padding, 0 to 1.
    reason : str
        Why this and nothing else, in a sentence.
    """

    launches: tuple[GearLaunch, ...]
    cost: float
    waste: float
    reason: str

    @property
    def gear(self) -> Gear | None:
        """The gear of the first launch, the only one unless the request is split."""
        return self.launches[0].gear

    @property
    def is_split(self) -> bool:
        """Whether it takes more than one launch."""
        return len(self.launches) > 1

    @property
    def is_exact(self) -> bool:
        """Whether it is one launch with nothing padded."""
        return not self.is_split and self.launches[0].is_exact

    @property
    def is_measured(self) -> bool:
        """Whether the cost of every launch was measured."""
        return all(launch.is_measured for launch in self.launches)
