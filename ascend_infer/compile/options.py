"""atc's options: which may be given, where from, and what they must not be.

Names are those of ``atc --help`` (CANN's ATC user guide); ones we do not know are passed on, for each CANN
release has some of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_infer.config import ModelConfig
from ascend_infer.config.member_path import PathEscapeError, member_path
from ascend_infer.diagnostic import Diagnostic
from ascend_infer.errors import ConfigError, InvalidOptionError

__all__ = ["GEAR_OPTIONS", "PREFIX", "atc_options", "option_files"]

#: Of a configuration's parameters that are atc's options.
PREFIX = "atc."
#: At most one of them makes gears.
GEAR_OPTIONS = ("dynamic_batch_size", "dynamic_image_size", "dynamic_dims")

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# What compiling is made of: given by the call itself.
_OURS = {
    "model": "it is the .onnx file", "framework": "it is 5, ONNX", "output": "the cache decides it",
    "soc_version": "give soc (--soc)", "mode": "only models are made here", "weight": "it is Caffe's",
    "singleop": "only models are made here", "om": "only models are made here",
    "json": "only models are made here", "help": "see atc --help",
}  # fmt: skip
# Files that atc reads: part of what the result depends on.
_FILES = frozenset({
    "insert_op_conf", "op_precision_mode", "modify_mixlist", "keep_dtype", "fusion_switch_file",
    "compression_optimize_conf", "compress_weight_conf", "customize_dtypes", "cal_conf", "op_name_map",
    "raw_ge_options", "cluster_config", "hccl_sub_comm_config",
})  # fmt: skip
# Places that atc writes to or takes compiled code from, and a command that it runs: not for a file that
# came with a model to decide.
_CALLERS_ONLY = frozenset({
    "debug_dir", "op_compiler_cache_dir", "mdl_bank_path", "op_bank_path", "check_report", "build_config",
})  # fmt: skip


def atc_options(
    config: ModelConfig | None,
    folder: Path,
    given: Mapping[str, str] | None = None,
    allow_paths: Sequence[str | os.PathLike[str]] = (),
) -> dict[str, str]:
    """Return atc's options by name, without what compiling itself sets.

    Parameters
    ----------
    config : ModelConfig or None
        Its parameters ``atc.<option>``. They may name files of the model directory only.
    folder : Path
        The model directory, which file names are relative to.
    given : mapping of str to str, optional
        The caller's own, which go before the configuration's; names with or without leading dashes. An empty
        value takes the configuration's option away.
    allow_paths : sequence of path-like
        Folders outside the model directory that the configuration may name files in.

    Raises
    ------
    ConfigError, InvalidOptionError
        For names that are none, options that are not for them to give, files outside or not there.
    """
    options: dict[str, str] = {}
    findings = []
    for key, parameter in config.parameters.items() if config is not None else ():
        if not key.startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX).lstrip("-")
        try:
            if name in _CALLERS_ONLY:
                raise ValueError("a model's configuration may not give this option; give it as --option")
            options[name] = _checked(name, parameter.string_value, folder, allow_paths)
        except ValueError as error:
            findings.append(Diagnostic(message=f"parameter {key!r}: {error}", field=f'parameters["{key}"]'))
    if findings:
        raise ConfigError("; ".join(map(str, findings)), diagnostics=findings)
    for key, text in (given or {}).items():
        name = key.lstrip("-")
        try:
            value = _checked(name, text, folder, ("/",))
        except ValueError as error:
            raise InvalidOptionError(f"option {key!r}: {error}", option=key, got=text) from error
        if text:
            options[name] = value
        else:
            options.pop(name, None)
    gears = [name for name in GEAR_OPTIONS if name in options]
    if len(gears) > 1:
        raise InvalidOptionError(
            f"atc takes one of its options {', '.join(gears)}, not all of them", option=gears[1]
        )
    if "precision_mode" in options and "precision_mode_v2" in options:
        raise InvalidOptionError(
            "atc takes precision_mode or precision_mode_v2, not both", option="precision_mode"
        )
    return options


def option_files(options: Mapping[str, str]) -> dict[str, Path]:
    """Return the files that options name, by option."""
    return {name: Path(text) for name, text in options.items() if name in _FILES}


def _checked(name: str, text: str, folder: Path, allow_paths: Sequence[str | os.PathLike[str]]) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("this is no name of an option of atc")
    if name in _OURS:
        raise ValueError(f"this option is set here already: {_OURS[name]}")
    if "\0" in text:
        raise ValueError("the value holds a zero character")
    if name not in _FILES or not text:
        return text
    try:
        path = member_path(folder, folder, text, allow_paths)
    except PathEscapeError as error:
        raise ValueError(str(error)) from error
    if not path.is_file():
        raise ValueError(f"{path} is no file")
    return str(path.absolute())
