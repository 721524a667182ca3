"""ATC's AIPP configuration files (``--insert_op_conf``), as far as the simulator computes them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from ascend_infer.errors import InvalidOptionError
from ascend_infer.om import OmAipp
from ascend_infer.om.aipp import AIPP_FORMATS

__all__ = ["read_aipp_file"]

_FORMATS = {name: number for number, name in AIPP_FORMATS.items()}
_TOKEN = re.compile(r'\s*(?:#[^\n]*|(?P<word>[\w.+-]+|"[^"]*")|(?P<sign>[{}:;,]))')

Values = dict[str, list[str]]


def read_aipp_file(path: str | os.PathLike[str], inputs: Sequence[str]) -> dict[str, OmAipp]:
    """Read the static AIPP of each input from a file in ATC's format.

    Parameters
    ----------
    path : path-like
    inputs : sequence of str
        The model's inputs: ``related_input_rank`` counts them, ``related_input_name`` names one.

    Returns
    -------
    dict of input name to OmAipp

    Raises
    ------
    InvalidOptionError
        The file cannot be read or understood, is for an input that is not there, or asks for what the simulator does
        not compute: dynamic AIPP, resize.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _refuse(path, f"it cannot be read: {error}") from error
    found: dict[str, OmAipp] = {}
    for values in _blocks(path, text):
        name = _target(path, values, inputs)
        if name in found:
            raise _refuse(path, f"input {name!r} is given twice")
        found[name] = _aipp(path, values)
    if not found:
        raise _refuse(path, "it has no aipp_op { ... } block")
    return found


def _refuse(path: str | os.PathLike[str], reason: str) -> InvalidOptionError:
    return InvalidOptionError(f"AIPP file {os.fspath(path)}: {reason}", option="aipp", got=os.fspath(path))


def _tokens(path: str | os.PathLike[str], text: str) -> Iterator[str]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _refuse(path, f"line {text.count(chr(10), 0, at) + 1} cannot be understood")
        at = match.end()
        token = match["word"] or match["sign"]
        if token and token not in ",;":
            yield token


def _blocks(path: str | os.PathLike[str], text: str) -> Iterator[Values]:
    tokens = list(_tokens(path, text))
    at = 0

    def take(expected: str) -> None:
        nonlocal at
        got = tokens[at] if at < len(tokens) else "the end"
        if got != expected:
            raise _refuse(path, f"{expected!r} was expected, {got!r} found")
        at += 1

    while at < len(tokens):
        take("aipp_op")
        take("{")
        values: Values = {}
        while at < len(tokens) and tokens[at] != "}":
            key = tokens[at]
            at += 1
            take(":")
            if at >= len(tokens):
                raise _refuse(path, f"{key} has no value")
            values.setdefault(key, []).append(tokens[at].strip('"'))
            at += 1
        take("}")
        yield values


def _target(path: str | os.PathLike[str], values: Values, inputs: Sequence[str]) -> str:
    if "related_input_name" in values:
        name = values["related_input_name"][0]
        if name not in inputs:
            raise _refuse(path, f"the model has no input {name!r}; its inputs are {', '.join(inputs)}")
        return name
    rank = values.get("related_input_rank", ["0"])[0]
    if not rank.isdigit() or int(rank) >= len(inputs):
        raise _refuse(path, f"related_input_rank {rank}: the model has {len(inputs)} inputs")
    return inputs[int(rank)]


def _aipp(path: str | os.PathLike[str], values: Values) -> OmAipp:
    def number(key: str, default: float = 0.0) -> float:
        try:
            return float(values.get(key, [str(default)])[0])
        except ValueError:
            raise _refuse(path, f"{key}: {values[key][0]!r} is no number") from None

    def whole(key: str, default: int = 0) -> int:
        return int(number(key, default))

    def flag(key: str) -> bool:
        word = values.get(key, ["false"])[0].lower()
        if word not in ("true", "false", "1", "0"):
            raise _refuse(path, f"{key}: {word!r} is neither true nor false")
        return word in ("true", "1")

    mode = values.get("aipp_mode", ["undefined"])[0]
    if mode not in ("static", "1"):
        raise _refuse(path, f"aipp_mode {mode}: the simulator computes static AIPP only")
    if flag("resize"):
        raise _refuse(path, "resize: the simulator does not compute it")
    format_name = values.get("input_format", [""])[0]
    if format_name not in _FORMATS:
        raise _refuse(path, f"input_format {format_name or 'is missing'}: one of {', '.join(_FORMATS)}")
    matrix = [[whole(f"matrix_r{row}c{column}") for column in range(3)] for row in range(3)]
    four = range(4)
    return OmAipp(
        input_format=_FORMATS[format_name],
        src_image_size=(whole("src_image_size_w"), whole("src_image_size_h")),
        crop=(
            (whole("load_start_pos_w"), whole("load_start_pos_h"), whole("crop_size_w"), whole("crop_size_h"))
            if flag("crop")
            else None
        ),
        padding=(
            (
                whole("left_padding_size"),
                whole("right_padding_size"),
                whole("top_padding_size"),
                whole("bottom_padding_size"),
            )
            if flag("padding")
            else None
        ),
        padding_value=number("padding_value"),
        csc_switch=flag("csc_switch"),
        rbuv_swap_switch=flag("rbuv_swap_switch"),
        ax_swap_switch=flag("ax_swap_switch"),
        matrix=cast(
            "tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]",
            tuple(tuple(row) for row in matrix),
        ),
        input_bias=(whole("input_bias_0"), whole("input_bias_1"), whole("input_bias_2")),
        output_bias=(whole("output_bias_0"), whole("output_bias_1"), whole("output_bias_2")),
        mean=cast("tuple[float, float, float, float]", tuple(number(f"mean_chn_{i}") for i in four)),
        min=cast("tuple[float, float, float, float]", tuple(number(f"min_chn_{i}") for i in four)),
        var_reci=cast(
            "tuple[float, float, float, float]", tuple(number(f"var_reci_chn_{i}", 1.0) for i in four)
        ),
    )
