"""The files beside the model that a configuration names: labels, warm-up data, initial states."""

from __future__ import annotations

import math
import os
from pathlib import Path

from ascend_infer.config.findings import Findings
from ascend_infer.config.member_path import PathEscapeError, member_path
from ascend_infer.errors import ConfigError
from ascend_infer.model_directory import ModelDirectory
from ascend_infer.regular_file import file_kind
from ascend_infer.types import DataType

__all__ = ["check_named_files"]


def check_named_files(directory: ModelDirectory, findings: Findings) -> None:
    """Check that each file is there, inside the model directory, and of the size that the configuration says."""
    _check_labels(directory, findings)
    for index, warmup in enumerate(directory.config.model_warmup):
        for name, data in warmup.inputs.items():
            if data.input_data_file is None:
                continue
            path = f'model_warmup[{index}].inputs["{name}"].input_data_file'
            folder, file = directory.path / "warmup", data.input_data_file
            _check_data(directory, folder, file, data.data_type, data.dims, path, findings)
    sequence = directory.config.sequence_batching
    for index, state in enumerate(sequence.state if sequence is not None else ()):
        for place, initial in enumerate(state.initial_state):
            if initial.data_file is None:
                continue
            path = f"sequence_batching.state[{index}].initial_state[{place}].data_file"
            folder, file = directory.path / "initial_state", initial.data_file
            _check_data(directory, folder, file, initial.data_type, initial.dims, path, findings)


def _check_labels(directory: ModelDirectory, findings: Findings) -> None:
    for index, output in enumerate(directory.config.output):
        try:
            labels = directory.labels(output.name)
        except ConfigError as error:
            findings.diagnostics += error.diagnostics
            continue
        classes = math.prod(output.dims) if output.dims and min(output.dims) > 0 else None
        if labels is not None and classes is not None and not any(map(str.strip, labels[classes:])):
            labels = labels[:classes]  # empty lines at the end of the file
        if labels is not None and classes is not None and len(labels) != classes:
            findings.warning(
                f"output[{index}].label_filename",
                f"'{output.label_filename}' has {len(labels)} labels and output '{output.name}' "
                f"{classes} elements",
                got=len(labels),
                expected=str(classes),
            )


def _check_data(
    directory: ModelDirectory,
    folder: Path,
    file: str,
    data_type: DataType | None,
    dims: tuple[int, ...],
    path: str,
    findings: Findings,
) -> None:
    try:
        place = member_path(directory.path, folder, file, directory.allow_paths)
    except PathEscapeError as error:
        findings.error(
            path,
            f"the data file '{file}' is refused: {error}",
            got=f"'{file}'",
            expected=f"a file inside {folder}",
        )
        return
    problem = ""
    try:
        status = os.stat(place)
        kind = file_kind(status.st_mode)
        if kind is not None:
            problem = f"is {kind}"
        elif not os.access(place, os.R_OK):
            problem = "must not be read by this user"
    except FileNotFoundError:
        problem = "is a link whose target is missing" if os.path.islink(place) else "is not there"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    if problem:
        findings.error(
            path, f"the data file '{file}' {problem}", got=f"'{file}'", expected=f"a file at {place}"
        )
        return
    size = status.st_size
    if data_type is None or data_type is DataType.BYTES or any(dim < 1 for dim in dims):
        return
    wanted = math.prod(dims) * data_type.itemsize
    if size != wanted:
        findings.error(
            path,
            f"the data file '{file}' has {size} bytes where {data_type.config_name} {list(dims)} takes {wanted}",
            got=size,
            expected=str(wanted),
        )
