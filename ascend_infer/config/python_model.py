"""What the source of a Python model says of its tensors, read without running it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ascend_infer.config.findings import Findings
from ascend_infer.config.member_path import PathEscapeError
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.model_files import find_model_file
from ascend_infer.config.rules import check_tensors_complete
from ascend_infer.config.text_file import read_lines
from ascend_infer.errors import ConfigError

__all__ = ["check_python_model"]


def check_python_model(
    config: ModelConfig,
    root: Path,
    versions: Sequence[int],
    allow_paths: Sequence[str | os.PathLike[str]],
    findings: Findings,
) -> None:
    """Check that a Python model's tensors are stated, unless its source has an ``auto_complete_config``.

    Triton loads a model without any and then refuses every request; here that is an error at once.
    """
    for version in reversed(versions):
        try:
            file = find_model_file(config, root, root / str(version), "", allow_paths)
            if file.exists and any("auto_complete_config" in line for line in read_lines(file.path)):
                return
        except (ConfigError, PathEscapeError):
            continue
    if not config.input and not config.output:
        findings.error(
            "",
            "the Python model states neither inputs nor outputs, and model.py has no auto_complete_config",
            expected="input and output in config.pbtxt",
        )
    check_tensors_complete(config, findings)
