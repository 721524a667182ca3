"""Which class stands for which message or enum of the schema: the name without its dots."""

from __future__ import annotations

import keyword
from enum import StrEnum
from typing import Any

from ascend_infer.config import (
    instance_group,
    model_config,
    optimization,
    scheduling_config,
    tensor_config,
)
from ascend_infer.config.schema import ENUMS, MESSAGES

__all__ = ["ENUM_CLASSES", "MESSAGE_CLASSES", "attribute"]

_MODULES = (tensor_config, instance_group, scheduling_config, optimization, model_config)


def _class(name: str) -> Any:
    own = name.replace(".", "")
    return next(getattr(module, own) for module in _MODULES if own in module.__all__)


MESSAGE_CLASSES: dict[str, type[Any]] = {name: _class(name) for name in MESSAGES}
# DataType is the whole library's, with its own table of names.
ENUM_CLASSES: dict[str, type[StrEnum]] = {name: _class(name) for name in ENUMS if name != "DataType"}


def attribute(field: str) -> str:
    """Return the attribute for a field's name: the name, with an underscore after Python's keywords."""
    return f"{field}_" if keyword.iskeyword(field) else field
