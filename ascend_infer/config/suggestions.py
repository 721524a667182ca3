"""Guessing what somebody meant by a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ascend_infer.types import DataType

__all__ = ["enum_value_hint", "field_hint", "quoted", "similar"]

# Words of other tools, and plurals, for the fields they stand for.
_FIELD_WORDS = {
    "inputs": "input",
    "outputs": "output",
    "instance_groups": "instance_group",
    "instances": "instance_group",
    "dtype": "data_type",
    "datatype": "data_type",
    "type": "data_type",
    "shape": "dims",
    "dim": "dims",
    "batch_size": "max_batch_size",
    "max_batch": "max_batch_size",
    "labels": "label_filename",
    "label_file": "label_filename",
    "gpu": "gpus",
    "devices": "gpus",
    "device_ids": "gpus",
    "device_id": "gpus",
    "filename": "default_model_filename",
    "model_filename": "default_model_filename",
    "version": "version_policy",
    "versions": "version_policy",
    "warmup": "model_warmup",
    "max_queue_delay": "max_queue_delay_microseconds",
    "max_queue_delay_us": "max_queue_delay_microseconds",
    "preferred_batch_sizes": "preferred_batch_size",
    "steps": "step",
    "value": "string_value",
}
_TYPE_WORDS = {
    "FLOAT": DataType.FP32,
    "FLOAT32": DataType.FP32,
    "SINGLE": DataType.FP32,
    "FLOAT16": DataType.FP16,
    "HALF": DataType.FP16,
    "FLOAT64": DataType.FP64,
    "DOUBLE": DataType.FP64,
    "BFLOAT16": DataType.BF16,
    "INT": DataType.INT32,
    "LONG": DataType.INT64,
    "BYTES": DataType.BYTES,
    "STR": DataType.BYTES,
    "TEXT": DataType.BYTES,
    "BOOLEAN": DataType.BOOL,
    "BYTE": DataType.UINT8,
}


def similar(word: str, options: Iterable[str]) -> str | None:
    """Return the option that ``word`` most likely meant, None when none is close."""
    known = list(options)
    squeezed = {option.replace("_", "").lower(): option for option in known}
    exact = squeezed.get(word.replace("_", "").replace("-", "").lower())
    if exact is not None:
        return exact
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    return close[0] if close else None


def field_hint(word: str, options: Iterable[str]) -> str | None:
    """Return the field that ``word`` most likely meant."""
    known = list(options)
    alias = _FIELD_WORDS.get(word.lower())
    return alias if alias in known else similar(word, known)


def enum_value_hint(word: str, values: Iterable[str]) -> str | None:
    """Return what to write for a value that the enum does not have."""
    known = [value for value in values if value != "TYPE_INVALID"]
    bare = word.strip("\"'")
    if bare in known:
        return f"write {bare} without quotes"
    if "TYPE_FP32" in known:
        upper = bare.upper().removeprefix("TYPE_").removeprefix("DT_").removeprefix("ACL_")
        meant = _TYPE_WORDS.get(upper)
        if meant is not None:
            return f"did you mean {meant.config_name}?"
    if bare.upper() in ("KIND_NPU", "NPU", "KIND_ASCEND", "ASCEND", "KIND_DEVICE") and "KIND_GPU" in known:
        return "write KIND_GPU, which means the NPU here"
    upper = bare.upper()
    for value in known:
        if upper == value or value.endswith("_" + upper):
            return f"did you mean {value}?"
    close = similar(upper, known)
    return f"did you mean {close}?" if close else None


def quoted(words: Iterable[str], limit: int = 12) -> str:
    """Return the words for a message: ``'a', 'b'``; the rest beyond ``limit`` is counted."""
    every = [f"'{word}'" for word in words]
    shown = ", ".join(every[:limit])
    return f"{shown} and {len(every) - limit} more" if len(every) > limit else shown or "none"
