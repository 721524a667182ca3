"""Which axes besides the rows may be padded, with what, and what to cut off the outputs then.

Padding other axes changes a model's answers unless it is made for that, so that it happens only where the
model's configuration says so:

    parameters { key: "gear_pad.input_ids" value { string_value: "0" } }
    parameters { key: "gear_crop.logits" value { string_value: "1" } }
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from ascend_infer.diagnostic import Diagnostic
from ascend_infer.errors import ConfigError
from ascend_infer.gears.crop import AxisCrop
from ascend_infer.gears.sizes import Dims, ModelSizes, SizedInput
from ascend_infer.types import DataType

__all__ = ["CropRule", "PadRules", "parse_fill"]

_PAD, _CROP = "gear_pad.", "gear_crop."
_CROP_ITEM = re.compile(r"(\d+)(?:\s+of\s+(\S.*?):(\d+))?(?:\s+(ceil|floor))?")
_INTEGERS = {
    DataType.UINT8: (0, 8), DataType.UINT16: (0, 16), DataType.UINT32: (0, 32), DataType.UINT64: (0, 64),
    DataType.INT4: (1, 4), DataType.INT8: (1, 8), DataType.INT16: (1, 16), DataType.INT32: (1, 32),
    DataType.INT64: (1, 64),
}  # fmt: skip
_LARGEST = {
    DataType.FP16: 65504.0, DataType.FP32: 3.4028234663852886e38, DataType.FP64: math.inf,
    DataType.BF16: 3.3895313892515355e38, DataType.FP8_E5M2: 57344.0, DataType.FP8_E4M3FN: 448.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CropRule:
    """One axis of an output that follows one axis of an input.

    Attributes
    ----------
    axis : int
        Of the output.
    input, input_axis : int or None
        The input's position and its axis; None for the one axis that is padded.
    rounding : {"ceil", "floor"}
    """

    axis: int
    input: int | None = None
    input_axis: int | None = None
    rounding: Literal["ceil", "floor"] = "ceil"


@dataclass(frozen=True, slots=True)
class PadRules:
    """What a configuration allows.

    Attributes
    ----------
    fills : mapping of int to (int, float or bool)
        By position of the input: what its added elements hold.
    crops : mapping of int to tuple of CropRule
        By position of the output; an empty tuple for one that does not grow with the padded axes.
    """

    fills: Mapping[int, int | float | bool] = field(default_factory=dict)
    crops: Mapping[int, tuple[CropRule, ...]] = field(default_factory=dict)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str], sizes: ModelSizes) -> PadRules:
        """Read a configuration's parameters against the model's inputs and outputs.

        Parameters
        ----------
        parameters : mapping of str to str
            ``gear_pad.<input>``: the fill, of the input's element type. ``gear_crop.<output>``: which axes to
            cut, ``"1"``, ``"1 of x:3"`` where several axes are padded, ``"1 floor"`` where a part of a step
            does not count (default ``ceil``), several with ``;``, ``"none"`` for nothing to cut. Others are
            left alone.
        sizes : ModelSizes

        Raises
        ------
        ConfigError
            Naming every parameter that does not fit the model, and outputs that change with a padded axis and
            have no ``gear_crop``.
        """
        found: list[Diagnostic] = []
        fills: dict[int, int | float | bool] = {}
        crops: dict[int, tuple[CropRule, ...]] = {}
        names = {tensor.name: number for number, tensor in enumerate(sizes.inputs)}
        for key, text in parameters.items():
            try:
                if key.startswith(_PAD):
                    number = names.get(key.removeprefix(_PAD))
                    if number is None:
                        raise ValueError(f"the model has no such input; it has {_listed(names)}")
                    fills[number] = _fill(text, sizes, number)
                elif key.startswith(_CROP):
                    output = sizes.output_index(key.removeprefix(_CROP))
                    if output is None:
                        known = [tensor.alias or tensor.name for tensor in sizes.outputs]
                        raise ValueError(f"the model has no such output; it has {_listed(known)}")
                    crops[output] = _crops(text, sizes, output, names)
            except ValueError as error:
                found.append(_finding(key, text, str(error)))
        rules = cls(fills, crops)
        if not found:
            found = [
                _finding(f"{_CROP}{sizes.outputs[i].alias or sizes.outputs[i].name}", None, reason)
                for i, reason in rules._missing_crops(sizes)
            ]
        if found:
            raise ConfigError("; ".join(map(str, found)), diagnostics=found)
        return rules

    def crops_of(
        self, sizes: ModelSizes, output: int, asked: tuple[Dims, ...], padded: tuple[Dims, ...]
    ) -> tuple[AxisCrop, ...] | None:
        """Return what to cut of an output when inputs were padded off the rows; None when that is not said."""
        changed = {
            (i, axis): (have, want)
            for i, (have_dims, want_dims) in enumerate(zip(asked, padded, strict=True))
            for axis, (have, want) in enumerate(zip(have_dims, want_dims, strict=True))
            if have != want and not sizes.is_row_axis(i, axis)
        }
        if not changed:
            return ()
        rules = self.crops.get(output)
        if rules is None:
            return () if _is_constant(sizes, output) else None
        cuts = []
        for rule in rules:
            pairs = set(changed.values())
            if rule.input is not None and rule.input_axis is not None:
                pair = changed.get((rule.input, rule.input_axis))
                if pair is None:
                    continue
            elif len(pairs) == 1:
                pair = next(iter(pairs))
            else:
                return None
            cuts.append(AxisCrop(rule.axis, *pair, rule.rounding))
        return tuple(cuts)

    def _missing_crops(self, sizes: ModelSizes) -> list[tuple[int, str]]:
        if not self.fills:
            return []
        return [
            (
                number,
                "inputs may be padded, and nothing says what to cut off this output; write the axis that "
                "follows the padded one, or none",
            )
            for number in range(len(sizes.outputs))
            if number not in self.crops and not _is_constant(sizes, number)
        ]


def parse_fill(text: str, dtype: DataType) -> int | float | bool:
    """Return a fill of an element type.

    Raises
    ------
    ValueError
        Saying what is wrong with it: not a number, out of the type's range, a part of an integer.
    """
    word = text.strip().replace("_", "?")  # Python's 1_000 is no number here
    if dtype is DataType.BOOL:
        truth = {"true": True, "1": True, "false": False, "0": False}.get(word.lower())
        if truth is None:
            raise ValueError("expected true or false")
        return truth
    if dtype in _INTEGERS:
        try:
            value = int(word) if re.fullmatch(r"[+-]?\d{1,30}", word) else float(word)
        except ValueError:
            raise ValueError(f"expected a whole number ({dtype})") from None
        if not math.isfinite(value) or value != int(value):
            raise ValueError(f"expected a whole number ({dtype})")
        signed, bits = _INTEGERS[dtype]
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        if not low <= value <= high:
            raise ValueError(f"expected {low} to {high} ({dtype})")
        return int(value)
    if dtype in _LARGEST:
        try:
            number = float(word)
        except ValueError:
            raise ValueError(f"expected a number ({dtype})") from None
        if math.isfinite(number) and abs(number) > _LARGEST[dtype]:
            raise ValueError(f"expected at most {_LARGEST[dtype]:g} either way ({dtype})")
        return number
    raise ValueError(f"inputs of type {dtype} cannot be padded")


def _fill(text: str, sizes: ModelSizes, number: int) -> int | float | bool:
    tensor: SizedInput = sizes.inputs[number]
    if not any(d == -1 and not sizes.is_row_axis(number, axis) for axis, d in enumerate(tensor.dims)):
        shown = "rows, which are padded anyway" if number in sizes.row_inputs else "none"
        raise ValueError(
            f"no axis of this input can be padded; it is {list(tensor.dims)}, of which open: {shown}"
        )
    return parse_fill(text, tensor.dtype)


def _crops(text: str, sizes: ModelSizes, output: int, names: Mapping[str, int]) -> tuple[CropRule, ...]:
    if text.strip().lower() == "none":
        return ()
    ranks = {len(size.outputs[output]) for size in sizes.sizes if size.outputs is not None}
    rules = []
    for item in text.split(";"):
        match = _CROP_ITEM.fullmatch(item.strip())
        if match is None:
            raise ValueError('expected an axis such as 1, "1 of INPUT:AXIS", or none; several with ;')
        axis, name, source, rounding = int(match[1]), match[2], match[3], match[4] or "ceil"
        if axis == 0 and output in sizes.row_outputs:
            raise ValueError("axis 0 holds the rows, which are cut anyway")
        if ranks and axis >= min(ranks):
            raise ValueError(f"the output has {min(ranks)} axes, 0 to {min(ranks) - 1}")
        number = names.get(name) if name is not None else None
        if name is not None and number is None:
            raise ValueError(f"the model has no input {name!r}; it has {_listed(names)}")
        if number is not None and int(source) >= len(sizes.inputs[number].dims):
            raise ValueError(f"input {name!r} has {len(sizes.inputs[number].dims)} axes")
        rules.append(
            CropRule(
                axis,
                number,
                None if number is None else int(source),
                cast(Literal["ceil", "floor"], rounding),
            )
        )
    if len({rule.axis for rule in rules}) != len(rules):
        raise ValueError("an axis stands there twice")
    return tuple(rules)


def _is_constant(sizes: ModelSizes, output: int) -> bool:
    """Whether an output is known to have the same shape, rows aside, in every gear."""
    skip = 1 if output in sizes.row_outputs else 0
    shapes = {size.outputs[output][skip:] if size.outputs else None for size in sizes.sizes}
    return len(shapes) == 1 and None not in shapes and len(sizes.sizes) > 1


def _listed(names: Mapping[str, int] | list[str]) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def _finding(key: str, text: str | None, reason: str) -> Diagnostic:
    return Diagnostic(
        message=f"parameter {key!r}: {reason}",
        field=f'parameters["{key}"]',
        got=None if text is None else repr(text),
    )
