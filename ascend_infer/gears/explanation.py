"""What would happen to a request, told to a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ascend_infer.errors import InvalidInputError
from ascend_infer.gears.choice import GearChoice, GearLaunch
from ascend_infer.gears.cost import Costs, estimated_costs
from ascend_infer.gears.pad_rules import PadRules
from ascend_infer.gears.policy import choose_gear
from ascend_infer.gears.sizes import Dims, ModelSizes

__all__ = ["GearExplanation", "explain_gear"]


@dataclass(frozen=True, repr=False)
class GearExplanation:
    """Which gear a request would run in, how much would be padding, what it costs, and why.

    Attributes
    ----------
    sizes : ModelSizes
    shapes : tuple of dims
        Of the request, in the order of the model's inputs.
    choice : GearChoice or None
        None when no gear takes it.
    error : InvalidInputError or None
        Then this is why, with the nearest gears and the remedy.
    """

    sizes: ModelSizes
    shapes: tuple[Dims, ...]
    choice: GearChoice | None
    error: InvalidInputError | None = None

    def __repr__(self) -> str:
        return f"<GearExplanation of {', '.join(_named(self.sizes, self.shapes))}: {self}>"

    def __str__(self) -> str:
        if self.choice is None:
            return f"would be refused: {self.error}"
        parts = [self._what(self.choice)]
        if not self.choice.is_exact:
            parts.append(f"{int(self.choice.waste * 100)} % waste")
        if self.sizes.sizes:
            word = "measured" if self.choice.is_measured else "estimated"
            parts.append(f"{_time(self.choice.cost)} {word}")
        return f"{', '.join(parts)} ({self.choice.reason})"

    def _what(self, choice: GearChoice) -> str:
        if choice.is_split:
            rows = sum(launch.rows for launch in choice.launches)
            counts: dict[str, int] = {}
            for launch in choice.launches:
                shown = self._size(launch)
                counts[shown] = counts.get(shown, 0) + 1
            launches = " + ".join(f"{n} x {size}" if n > 1 else size for size, n in counts.items())
            return f"would split {rows} rows into {len(choice.launches)} launches: {launches}"
        launch = choice.launches[0]
        if launch.is_exact:
            return f"would run as it is: {self._size(launch)}"
        asked, padded = self.sizes.values(self.shapes), self.sizes.values(launch.input_shapes)
        if asked == padded or not self.sizes.order:
            # A static model: what is padded is its rows.
            asked, padded = (launch.rows,), (launch.rows + max(pad[0] for pad in launch.pads if pad),)
        return f"would pad {_values(asked)} -> {_values(padded)}"

    def _size(self, launch: GearLaunch) -> str:
        if launch.gear is not None:
            return _values(launch.gear.values)
        return _values(launch.input_shapes[0]) if launch.input_shapes else "nothing"

    def _repr_html_(self) -> str:
        from html import escape

        rows = [("request", ", ".join(_named(self.sizes, self.shapes)))]
        if self.choice is None:
            rows.append(("refused", str(self.error)))
        else:
            for number, launch in enumerate(self.choice.launches[:20]):
                label = f"launch {number + 1}" if self.choice.is_split else "launch"
                rows.append((label, ", ".join(_named(self.sizes, launch.input_shapes))))
            more = len(self.choice.launches) - 20
            if more > 0:
                rows.append(("", f"and {more} more"))
            rows.append(("in short", str(self)))
        cells = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
        return f"<table>{cells}</table>"


def explain_gear(
    sizes: ModelSizes,
    shapes: Mapping[str, Sequence[int]],
    *,
    rules: PadRules | None = None,
    costs: Costs | None = None,
) -> GearExplanation:
    """Tell how a request of these shapes would run; never raises for shapes that no gear takes.

    Parameters
    ----------
    sizes : ModelSizes
    shapes : mapping of input name to shape
    rules : PadRules, optional
        By default nothing but rows is padded.
    costs : Costs, optional
        By default estimated.

    Raises
    ------
    InvalidInputError
        For names that the model does not have, or that are missing.
    """
    names = [tensor.name for tensor in sizes.inputs]
    if set(shapes) != set(names):
        wrong = [name for name in shapes if name not in names] or [n for n in names if n not in shapes]
        raise InvalidInputError(
            f"the shapes are of {sorted(shapes)}, the model's inputs are {names}",
            input=wrong[0],
            expected=", ".join(names),
            got=", ".join(shapes),
        )
    asked = tuple(tuple(int(size) for size in shapes[name]) for name in names)
    try:
        choice = choose_gear(sizes, asked, rules=rules or PadRules(), costs=costs or estimated_costs(sizes))
    except InvalidInputError as error:
        return GearExplanation(sizes, asked, None, error)
    return GearExplanation(sizes, asked, choice)


def _values(values: Sequence[int]) -> str:
    return str(values[0]) if len(values) == 1 else "x".join(map(str, values)) or "scalar"


def _named(sizes: ModelSizes, shapes: Sequence[Dims]) -> list[str]:
    return [f"{tensor.name} {list(shape)}" for tensor, shape in zip(sizes.inputs, shapes, strict=True)]


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} us"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
