"""Triton's JSON form of a configuration: what its config endpoint returns and its load override takes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ascend_infer.config.findings import Findings
from ascend_infer.config.from_message import enum_member
from ascend_infer.config.message_classes import MESSAGE_CLASSES, attribute
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.normalise import normalise
from ascend_infer.config.rules import check_rules
from ascend_infer.config.scalars import RANGES
from ascend_infer.config.schema import ENUMS, MESSAGES, FieldSpec
from ascend_infer.config.suggestions import enum_value_hint, field_hint
from ascend_infer.shortened import shortened
from ascend_infer.types import DataType

__all__ = ["from_json", "to_dict", "to_json"]

_NOT_FINITE = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}


def to_json(config: ModelConfig, *, indent: int | None = 1) -> str:
    """Return the configuration as Triton's JSON text; see `to_dict`."""
    return json.dumps(to_dict(config), indent=indent, ensure_ascii=False)


def to_dict(config: ModelConfig) -> dict[str, Any]:
    """Return the configuration as Triton's JSON form, in plain Python values.

    Field names are the schema's, every scalar, list and map is there also when it is default, absent messages are
    left out, integers are numbers, map keys are strings, enums their names, infinities the string ``"Infinity"``.
    """
    return _message_dict(config, "ModelConfig")


def _message_dict(message: Any, name: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for spec in MESSAGES[name].fields.values():
        value = getattr(message, attribute(spec.name))
        if spec.label == "map":
            result[spec.name] = {str(key): _plain(spec, item) for key, item in value.items()}
        elif spec.label == "many":
            result[spec.name] = [_plain(spec, item) for item in value]
        elif not spec.has_presence or value is not None:
            result[spec.name] = _plain(spec, value)
    return result


def _plain(spec: FieldSpec, value: Any) -> Any:
    if spec.type in MESSAGES:
        return _message_dict(value, spec.type)
    if spec.type in ENUMS:
        if value is None:
            return next(iter(ENUMS[spec.type]))
        return value.config_name if isinstance(value, DataType) else value.value
    if isinstance(value, float) and not math.isfinite(value):
        return next(text for text, number in _NOT_FINITE.items() if number == value or number != number)
    return value


def from_json(
    source: str | bytes | Mapping[str, Any], *, file: str | None = None, name: str | None = None
) -> ModelConfig:
    """Read a configuration in Triton's JSON form, with defaults filled in and every rule checked.

    Parameters
    ----------
    source : str, bytes or mapping
    file : str, optional
        Named in errors.
    name : str, optional
        Fills in an empty ``name``, and has to equal one that is stated.

    Raises
    ------
    ConfigError
        With every mistake; the field paths are those of `parse_config`.

    Notes
    -----
    As in protobuf's JSON mapping, field names may be in camel case, integers strings, enums numbers; names of
    enum values are read in any case; null is "left out"; an unknown field is an error.
    """
    findings = Findings(file)
    value: Any = source
    if isinstance(source, str | bytes):
        value = _load(source, findings)
    config = ModelConfig()
    if not findings.errors:
        config = _message("ModelConfig", value, "", findings)
    findings.raise_if_errors(file or "model configuration")
    if name is not None and config.name not in ("", name):
        findings.error(
            "name", f"the model is named '{config.name}', not '{name}'", got=config.name, expected=name
        )
    config = normalise(replace(config, name=config.name or name or ""))
    check_rules(config, findings)
    findings.raise_if_errors(file or "model configuration")
    return config


def _load(source: str | bytes, findings: Findings) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            names = [key for key, _ in items]
            twice = next(key for key in names if names.count(key) > 1)
            findings.error(twice, f"'{twice}' is given twice in one object")
        return result

    try:
        return json.loads(source, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        findings.error("", f"this is no JSON: {error.msg}", at=(error.lineno, error.colno))
    except (ValueError, RecursionError) as error:
        findings.error("", f"this is no JSON: {error}")
    return None


def _message(name: str, value: Any, path: str, findings: Findings) -> Any:
    if not isinstance(value, Mapping):
        findings.error(path, "an object is expected", got=_kind(value), expected="an object")
        return MESSAGE_CLASSES[name]()
    fields = MESSAGES[name].fields
    by_camel = {_camel(field): field for field in fields}
    values: dict[str, Any] = {}
    members: dict[str, str] = {}
    for key, item in value.items():
        field = key if key in fields else by_camel.get(key)
        own = f"{path}.{field or key}" if path else str(field or key)
        if field is None:
            meant = field_hint(str(key), fields)
            hint = f"did you mean {meant}?" if meant else None
            findings.error(own, f"{name} has no field '{key}'", hint=hint)
            continue
        if item is None:
            continue
        spec = fields[field]
        if spec.oneof is not None:
            other = members.setdefault(spec.oneof, field)
            if other != field:
                findings.error(own, f"'{field}' and '{other}' exclude each other")
        values[attribute(field)] = _field(spec, item, own, findings)
    return MESSAGE_CLASSES[name](**values)


def _camel(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _field(spec: FieldSpec, value: Any, path: str, findings: Findings) -> Any:
    if spec.label == "many":
        if not isinstance(value, list | tuple):
            findings.error(path, f"'{spec.name}' is a list", got=_kind(value), expected="a list")
            return ()
        return tuple(_one(spec, item, f"{path}[{index}]", findings) for index, item in enumerate(value))
    if spec.label == "map":
        if not isinstance(value, Mapping):
            findings.error(path, f"'{spec.name}' is a map", got=_kind(value), expected="an object")
            return {}
        key_spec = FieldSpec(1, "key", spec.key_type or "string")
        quote = '"' if spec.key_type == "string" else ""
        entries = {
            _one(key_spec, key, f"{path}[{key}]", findings): _one(
                spec, item, f"{path}[{quote}{key}{quote}]", findings
            )
            for key, item in value.items()
        }
        return dict(sorted(entries.items()))
    return _one(spec, value, path, findings)


def _one(spec: FieldSpec, value: Any, path: str, findings: Findings) -> Any:
    if spec.type in MESSAGES:
        return _message(spec.type, value, path, findings)
    if spec.type in ENUMS:
        return _enum(spec, value, path, findings)
    if spec.type in RANGES:
        return _integer(spec, value, path, findings)
    if spec.type == "bool":
        if isinstance(value, bool):
            return value
        findings.error(path, f"'{spec.name}' is true or false", got=_kind(value), expected="true or false")
        return False
    if spec.type in ("float", "double"):
        return _number(spec, value, path, findings)
    if isinstance(value, str):
        return value
    findings.error(path, f"'{spec.name}' is text", got=_kind(value), expected="a string")
    return ""


def _integer(spec: FieldSpec, value: Any, path: str, findings: Findings) -> int:
    number = value
    if isinstance(value, str):
        try:
            number = int(value)
        except ValueError:
            number = None
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    low, high = RANGES[spec.type]
    if isinstance(number, int) and not isinstance(number, bool) and low <= number <= high:
        return number
    findings.error(
        path, f"'{spec.name}' is an integer", got=_kind(value), expected=f"an integer from {low} to {high}"
    )
    return 0


def _number(spec: FieldSpec, value: Any, path: str, findings: Findings) -> float:
    if isinstance(value, str):
        try:
            return _NOT_FINITE[value] if value in _NOT_FINITE else float(value)
        except ValueError:
            pass
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    findings.error(path, f"'{spec.name}' is a number", got=_kind(value), expected="a number")
    return 0.0


def _enum(spec: FieldSpec, value: Any, path: str, findings: Findings) -> Any:
    values = ENUMS[spec.type]
    if isinstance(value, str) and value.upper() in values:
        return enum_member(spec.type, value.upper())
    if isinstance(value, int) and not isinstance(value, bool):
        by_number = {number: name for name, number in values.items()}
        if value in by_number:
            return enum_member(spec.type, by_number[value])
    hint = enum_value_hint(value, values) if isinstance(value, str) else None
    findings.error(
        path,
        f"'{spec.name}' cannot be {value!r:.60}",
        got=_kind(value),
        expected=f"one of {', '.join(values)}",
        hint=hint,
    )
    return enum_member(spec.type, next(iter(values)))


def _kind(value: Any) -> str:
    """Return a short text of a JSON value."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    try:
        return shortened(json.dumps(value))
    except (TypeError, ValueError):
        return f"a Python {type(value).__name__}"
