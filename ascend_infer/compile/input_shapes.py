"""The sizes that a model is compiled for: input shapes and gears, from its configuration and its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ascend_infer.compile.options import GEAR_OPTIONS
from ascend_infer.config import ModelConfig
from ascend_infer.errors import InvalidOptionError
from ascend_infer.types import TensorSpec

__all__ = ["CompiledShapes", "compiled_shapes"]

#: atc's own limit (E10036); newest chips take 256.
_MOST_GEARS = 100


@dataclass(frozen=True, slots=True)
class CompiledShapes:
    """What is told to atc of sizes.

    Attributes
    ----------
    options : mapping of str to str
        ``input_shape``, ``dynamic_batch_size``, ``input_format``, as far as they are needed.
    notes : tuple of str
        What a user should know of them, each in a sentence.
    """

    options: Mapping[str, str]
    notes: tuple[str, ...] = ()


def compiled_shapes(
    inputs: Sequence[TensorSpec], config: ModelConfig | None, options: Mapping[str, str]
) -> CompiledShapes:
    """Return which sizes to compile a model for.

    With ``max_batch_size`` above 0, an open first dimension and nothing ragged, that is batch gears: 1, the preferred
    batch sizes (without any, the powers of two) and ``max_batch_size``. Dimensions that the configuration's ``dims``
    fix are fixed. Where other dimensions stay open, ``atc.dynamic_dims`` or ``atc.dynamic_image_size`` make
    gears of them; without either the model becomes one of dynamic shape.

    Parameters
    ----------
    inputs : sequence of TensorSpec
        Of the ONNX model, whole shapes.
    config : ModelConfig or None
    options : mapping of str to str
        atc's options as given; ``input_shape`` among them is taken as it is.

    Raises
    ------
    InvalidOptionError
        For names that atc cannot take, and gears that do not fit the open dimensions.
    """
    if "input_shape" in options or not inputs:
        return CompiledShapes({})
    largest = config.max_batch_size if config is not None else 0
    shapes = {tensor.name: _stated(tensor, config, largest) for tensor in inputs}
    for name in shapes:
        if ";" in name or name != name.strip():
            raise InvalidOptionError(
                f"input {name!r}: atc's --input_shape cannot name it; rename the input in the ONNX model",
                option="input_shape",
                got=name,
            )
    made: dict[str, str] = {}
    notes: list[str] = []
    rows = [name for name, shape in shapes.items() if shape[:1] == (-1,)]
    others = [name for name, shape in shapes.items() if -1 in shape[1:]]
    chosen = next((name for name in GEAR_OPTIONS if name in options), None)
    if chosen == "dynamic_batch_size" and (others or not rows):
        what = f"input {others[0]!r} is open in other dimensions too" if others else "no input is open there"
        raise InvalidOptionError(
            f"dynamic_batch_size makes gears of the first dimension, and {what}: state the dims, or use "
            "dynamic_dims",
            option=chosen,
            got=options[chosen],
        )
    texts = {name: list(map(str, shape)) for name, shape in shapes.items()}
    if chosen == "dynamic_image_size" and rows:
        # Gears of pictures leave no room for gears of batches.
        for name in rows:
            texts[name][0] = str(max(largest, 1))
    elif chosen == "dynamic_dims":
        _check_dims_gears(options[chosen], sum(shape.count(-1) for shape in shapes.values()))
        if "input_format" not in options:
            made["input_format"] = "ND"
    elif chosen is None and rows and not others and config is not None and config.has_rows:
        gears = batch_gears(config)
        if len(gears) > 1:
            made["dynamic_batch_size"] = ",".join(map(str, gears))
        else:
            for name in rows:
                texts[name][0] = str(gears[0])
    elif chosen is None and (rows or others):
        if config is not None and config.has_rows:
            for name in rows:
                texts[name][0] = f"1~{largest}" if largest > 1 else "1"
        opened = ", ".join(f"{name} {list(shapes[name])}" for name in dict.fromkeys([*rows, *others]))
        if largest > 0 and config is not None and not config.has_rows:
            remedy = "requests of unequal lengths are laid end to end in it, of which there are no few sizes"
        elif others:
            remedy = "state dims in config.pbtxt, or gears with the parameter atc.dynamic_dims"
        else:
            remedy = "state max_batch_size in config.pbtxt, or give the option dynamic_batch_size"
        notes.append(
            f"dimensions are left open ({opened}): the model is compiled for dynamic shape, which runs slower and not "
            f"on every chip; {remedy}"
        )
    made["input_shape"] = ";".join(f"{name}:{','.join(text)}" for name, text in texts.items())
    return CompiledShapes(made, tuple(notes))


def batch_gears(config: ModelConfig | None) -> list[int]:
    """Return the batch sizes to compile for, ascending."""
    largest = max(config.max_batch_size, 1) if config is not None else 1
    batching = config.dynamic_batching if config is not None else None
    preferred = batching.preferred_batch_size if batching is not None else ()
    # The configuration's own default is the largest alone, which states no wish.
    if not set(preferred) - {largest}:
        preferred = tuple(1 << bit for bit in range(largest.bit_length()))
    gears = sorted({1, largest, *(size for size in preferred if 0 < size < largest)})
    if len(gears) > _MOST_GEARS:
        raise InvalidOptionError(
            f"dynamic_batching prefers {len(gears)} batch sizes, atc compiles at most {_MOST_GEARS}",
            option="preferred_batch_size",
            got=len(gears),
        )
    return gears


def _stated(tensor: TensorSpec, config: ModelConfig | None, largest: int) -> tuple[int, ...]:
    """Fill the model's open dimensions with those that the configuration fixes."""
    entry = config.input_by_name(tensor.name) if config is not None else None
    unknown = tensor.shape == (-2,)
    if entry is None or not entry.dims:
        if unknown:
            raise InvalidOptionError(
                f"input {tensor.name!r}: the model does not say how many dimensions it has, and atc has to know; "
                "state its dims in config.pbtxt, or give the option input_shape",
                option="input_shape",
            )
        return tensor.shape
    inner = entry.reshape.shape if entry.reshape is not None else entry.dims
    whole = (-1, *inner) if largest > 0 else tuple(inner)
    if unknown:
        return whole
    if len(whole) != len(tensor.shape):
        return tensor.shape
    return tuple(own if own != -1 else stated for own, stated in zip(tensor.shape, whole, strict=True))


def _check_dims_gears(text: str, open_count: int) -> None:
    gears = [gear for gear in text.split(";") if gear.strip()]
    wrong = next((gear for gear in gears if len(gear.split(",")) != open_count), None)
    if wrong is not None or not gears:
        raise InvalidOptionError(
            f"dynamic_dims: gear {wrong or text!r} does not have as many values as the inputs have open dimensions, "
            f"{open_count}",
            option="dynamic_dims",
            got=text,
        )
