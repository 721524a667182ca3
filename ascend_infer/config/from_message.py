"""From protobuf's message to our dataclasses, by the schema."""

from __future__ import annotations

from typing import Any

from ascend_infer.config.findings import Findings
from ascend_infer.config.message_classes import ENUM_CLASSES, MESSAGE_CLASSES, attribute
from ascend_infer.config.schema import ENUMS, MESSAGES, FieldSpec
from ascend_infer.types import DataType

__all__ = ["enum_member", "from_message"]

_NUMBERS = {name: {number: value for value, number in values.items()} for name, values in ENUMS.items()}


def enum_member(enum: str, value: str) -> Any:
    """Return the member for one of an enum's names; None for TYPE_INVALID, which is "not stated"."""
    if enum == "DataType":
        return None if value == "TYPE_INVALID" else DataType.from_config(value)
    return ENUM_CLASSES[enum](value)


def from_message(message: Any, findings: Findings, name: str = "ModelConfig", path: str = "") -> Any:
    """Convert a protobuf message to the dataclass of the same name.

    A number that its enum does not have, which protobuf lets pass, is reported to ``findings``.
    """
    values: dict[str, Any] = {}
    fields = MESSAGES[name].fields
    for descriptor, value in message.ListFields():
        spec = fields[descriptor.name]
        own = f"{path}.{spec.name}" if path else spec.name
        if spec.label == "one":
            converted: Any = _value(spec, value, findings, own)
        elif spec.label == "many":
            converted = tuple(
                _value(spec, item, findings, f"{own}[{index}]") for index, item in enumerate(value)
            )
        else:
            quote = '"' if spec.key_type == "string" else ""
            converted = {
                key: _value(spec, value[key], findings, f"{own}[{quote}{key}{quote}]")
                for key in sorted(value)
            }
        values[attribute(spec.name)] = converted
    return MESSAGE_CLASSES[name](**values)


def _value(spec: FieldSpec, value: Any, findings: Findings, path: str) -> Any:
    if spec.type in MESSAGES:
        return from_message(value, findings, spec.type, path)
    if spec.type in ENUMS:
        numbers = _NUMBERS[spec.type]
        if value not in numbers:
            names = ", ".join(f"{name} ({number})" for number, name in numbers.items())
            findings.error(path, f"{value} is no value of '{spec.name}'", got=value, expected=names)
            return enum_member(spec.type, numbers[0])
        return enum_member(spec.type, numbers[value])
    return value
