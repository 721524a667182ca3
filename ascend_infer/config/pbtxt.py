"""Writing a configuration as config.pbtxt: short, in the schema's order, without what is default anyway."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

from ascend_infer.config.message_classes import attribute
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.normalise import normalise
from ascend_infer.config.schema import ENUMS, MESSAGES, FieldSpec
from ascend_infer.types import DataType

__all__ = ["to_pbtxt"]

_WIDTH = 100
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def to_pbtxt(config: ModelConfig) -> str:
    """Return the text of a config.pbtxt that `parse_config` reads back as the same configuration.

    Parameters
    ----------
    config : ModelConfig

    Returns
    -------
    str
        What `normalise` fills in again is left out, so that ``parse_config(to_pbtxt(config)).config`` equals
        ``normalise(config)``. ``max_batch_size: 0`` is left out too; in a configuration without inputs and outputs,
        leaving it out lets the model file decide (see `complete`).
    """
    lines = _fields(_simplified(config), "ModelConfig")
    return "".join(line + "\n" for line in lines)


def _simplified(config: ModelConfig) -> ModelConfig:
    """Leave out, part by part, whatever comes back by normalising."""
    wanted = normalise(config)
    simple = config
    for changes in (
        {"version_policy": None},
        {"default_model_filename": ""},
        {"backend": ""},
        {"instance_group": tuple(replace(group, name="") for group in config.instance_group)},
        {"instance_group": ()},
        {"optimization": None},
    ):
        trial = replace(simple, **changes)
        if normalise(trial) == wanted:
            simple = trial
    if simple.optimization is not None:
        policy = replace(simple.optimization, input_pinned_memory=None, output_pinned_memory=None)
        trial = replace(simple, optimization=policy)
        simple = trial if normalise(trial) == wanted else simple
    if simple.dynamic_batching is not None:
        dynamic = replace(simple.dynamic_batching, preferred_batch_size=())
        trial = replace(simple, dynamic_batching=dynamic)
        simple = trial if normalise(trial) == wanted else simple
    if simple.sequence_batching is not None:
        sequence = replace(simple.sequence_batching, max_sequence_idle_microseconds=0)
        trial = replace(simple, sequence_batching=sequence)
        simple = trial if normalise(trial) == wanted else simple
    return simple


def _fields(message: Any, name: str) -> list[str]:
    """Return a message's fields; one that takes several lines has its line breaks inside."""
    lines: list[str] = []
    for spec in MESSAGES[name].fields.values():
        value = getattr(message, attribute(spec.name))
        if spec.label == "map":
            lines += [
                f"{spec.name} {_braces([_scalar_field('key', spec.key_type or '', key), _entry(spec, item)])}"
                for key, item in value.items()
            ]
        elif spec.label == "many":
            if value and spec.type in MESSAGES:
                items = [_braces(_fields(item, spec.type)) for item in value]
                lines.append(f"{spec.name} [\n" + ",\n".join(map(_indent, items)) + "\n]")
            elif value:
                items = [_scalar(spec.type, item) for item in value]
                lines.append(f"{spec.name}: [{', '.join(items)}]")
        elif spec.type in MESSAGES:
            if value is not None:
                lines.append(f"{spec.name} {_braces(_fields(value, spec.type))}")
        elif value is not None and (spec.has_presence or not _is_zero(spec, value)):
            lines.append(_scalar_field(spec.name, spec.type, value))
    return lines


def _entry(spec: FieldSpec, item: Any) -> str:
    if spec.type in MESSAGES:
        return f"value {_braces(_fields(item, spec.type))}"
    return _scalar_field("value", spec.type, item)


def _braces(lines: list[str]) -> str:
    short = "{ " + " ".join(lines) + " }" if lines else "{ }"
    if len(short) <= _WIDTH and "\n" not in short:
        return short
    return "{\n" + "\n".join(map(_indent, lines)) + "\n}"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _is_zero(spec: FieldSpec, value: Any) -> bool:
    if spec.type in ENUMS:
        return str(_enum_name(value)) == next(iter(ENUMS[spec.type]))
    # -0.0 is no zero to protobuf.
    return value in ("", 0, False) and not (isinstance(value, float) and str(value) == "-0.0")


def _enum_name(value: Any) -> str:
    return str(value.config_name) if isinstance(value, DataType) else str(value.value)


def _scalar_field(name: str, type_name: str, value: Any) -> str:
    return f"{name}: {_scalar(type_name, value)}"


def _scalar(type_name: str, value: Any) -> str:
    if type_name in ENUMS:
        return _enum_name(value)
    if type_name == "string":
        return '"' + "".join(_escape(character) for character in value) + '"'
    if type_name == "bool":
        return "true" if value else "false"
    if type_name == "float":
        return _float32_text(value)
    return repr(value)


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character >= " " and character != "\x7f" else f"\\{ord(character):03o}"


def _float32_text(value: float) -> str:
    """Return the shortest text that is this value again after rounding to 32 bits."""
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if struct.unpack("<f", struct.pack("<f", float(text)))[0] == value:
            return text
    return repr(value)
